"""Views are used after they were released."""

from contextlib import suppress

with memoryview(b"abc") as view:
    assert view.tobytes() == b"abc"
with suppress(ValueError):
    view.tobytes()  # violation

view = memoryview(b"abc")
view.release()
with suppress(ValueError), view:  # violation
    pass
