"""Too few bytes are unpacked, and a number is packed that is too large."""

import struct
from contextlib import suppress

with suppress(struct.error):
    struct.unpack("<HI", b"abc")  # violation
with suppress(struct.error):
    struct.Struct("B").pack(256)  # violation
