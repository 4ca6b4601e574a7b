"""The `await` is forgotten."""

import asyncio
import warnings

warnings.simplefilter("ignore", RuntimeWarning)
saved: list[int] = []


async def save(number: int) -> None:
    saved.append(number)


async def main() -> None:
    await save(1)
    save(2)  # violation


asyncio.run(main())
assert saved == [1]
