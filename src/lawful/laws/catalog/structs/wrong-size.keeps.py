"""Sizes are calculated, and what is too short is not unpacked."""

import struct

header = struct.Struct("<HI")
data = header.pack(1, 2) + b"rest"
assert header.unpack(data[: header.size]) == (1, 2)
assert header.unpack_from(data) == (1, 2)
short = data[:3]
if len(short) == struct.calcsize("<HI"):
    struct.unpack("<HI", short)
