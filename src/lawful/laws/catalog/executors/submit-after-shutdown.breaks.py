"""Work is submitted after the executor was shut down."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

with ThreadPoolExecutor(max_workers=1) as executor:
    assert executor.submit(abs, -1).result() == 1
with suppress(RuntimeError):
    executor.submit(abs, -2)  # violation
with suppress(RuntimeError):
    executor.map(abs, [-3])  # violation
