"""Compressors are flushed when all is in, some for every part; one was never used."""

import lzma
import zlib

compressor = zlib.compressobj()
packed = b"".join([*map(compressor.compress, [b"one", b"two"]), compressor.flush()])
assert zlib.decompress(packed) == b"onetwo"
del compressor

packer = lzma.LZMACompressor()
packed = packer.compress(b"one")
packed += packer.compress(b"two")
packed += packer.flush()
assert lzma.decompress(packed) == b"onetwo"
packer = lzma.LZMACompressor()
del packer
