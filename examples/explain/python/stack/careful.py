"""The same stack: nothing is taken from it if it is empty."""


def push(stack: list[int], value: int) -> None:
    stack.append(value)


def pop(stack: list[int]) -> None:
    stack.pop()


def run(ops: list[bool]) -> None:
    stack: list[int] = []
    for op in ops:
        if op:
            push(stack, 1)
        elif stack:
            pop(stack)
