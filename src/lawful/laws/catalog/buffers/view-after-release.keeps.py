"""Views are used before they are released, and released twice."""

data = bytearray(b"abc")
with memoryview(data) as view:
    assert view.tobytes() == b"abc"
    part = view[1:]
view.release()
assert part.tolist() == [98, 99]
part.release()
data.extend(b"d")
with memoryview(data) as view, view.toreadonly() as fixed:
    assert fixed.hex() == "61626364"
