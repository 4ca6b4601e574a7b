"""Compressors are flushed in between, where that ends nothing, and at the end."""

import bz2
import lzma
import zlib

for text in (b"one", b"two"):
    compressor = zlib.compressobj()
    packed = compressor.compress(text) + compressor.flush(zlib.Z_SYNC_FLUSH)
    packed += compressor.compress(text) + compressor.flush(zlib.Z_FINISH)
    assert zlib.decompress(packed) == text * 2

compressor = zlib.compressobj()
first = compressor.compress(b"one")
other = compressor.copy()
assert zlib.decompress(first + compressor.flush()) == b"one"
assert zlib.decompress(first + other.compress(b"two") + other.flush()) == b"onetwo"

for kind, unpack in ((bz2.BZ2Compressor, bz2.decompress), (lzma.LZMACompressor, lzma.decompress)):
    packer = kind()
    assert unpack(packer.compress(b"one") + packer.flush()) == b"one"
