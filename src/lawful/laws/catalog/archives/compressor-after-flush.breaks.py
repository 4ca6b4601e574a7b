"""Compressors are used for a second stream."""

import bz2
import zlib
from contextlib import suppress

compressor = zlib.compressobj()
packed = compressor.compress(b"one") + compressor.flush()
with suppress(zlib.error):
    packed += compressor.compress(b"two")  # violation

packer = bz2.BZ2Compressor()
packed = packer.compress(b"one") + packer.flush()
with suppress(ValueError):
    packer.flush()  # violation
