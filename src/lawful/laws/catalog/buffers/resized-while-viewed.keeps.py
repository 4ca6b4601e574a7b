"""What has been seen through a view is resized when the view is released, and changed in place before."""

import array
import io

data = bytearray(b"abc")
with memoryview(data) as view:
    view[0] = 120
    data.reverse()
data.extend(b"d")
assert data == b"cbxd"

numbers = array.array("i", [1, 2])
with memoryview(numbers) as view:
    assert view.tolist() == [1, 2]
numbers.append(3)

file = io.BytesIO(b"abc")
with file.getbuffer() as view:
    assert view[0] == 97
file.seek(0, io.SEEK_END)
file.write(b"d")
