"""A result is set twice, and after cancelling."""

from concurrent.futures import Future, InvalidStateError
from contextlib import suppress

future: Future[int] = Future()
future.set_result(1)
with suppress(InvalidStateError):
    future.set_result(2)  # violation
future = Future()
future.cancel()
with suppress(InvalidStateError):
    future.set_exception(LookupError())  # violation
