"""A stack that is worked on without looking whether something is on it."""


def push(stack: list[int], value: int) -> None:
    stack.append(value)


def pop(stack: list[int]) -> None:
    stack.pop()


def run(ops: list[bool]) -> None:
    stack: list[int] = []
    for op in ops:
        if op:
            push(stack, 1)
        else:
            pop(stack)
