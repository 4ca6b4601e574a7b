"""A bytearray, an array and a file in memory are resized while somebody looks at them."""

import array
import io
from contextlib import suppress

data = bytearray(b"abc")
with memoryview(data), suppress(BufferError):
    data.append(100)  # violation

numbers = array.array("i", [1, 2])
with memoryview(numbers), suppress(BufferError):
    numbers.pop()  # violation

file = io.BytesIO(b"abc")
with file.getbuffer(), suppress(BufferError):
    file.truncate(0)  # violation
