"""Both ends of a pipe are used while they are open; what is on the way can be received when the sender is closed."""

from contextlib import suppress
from multiprocessing import Pipe

left, right = Pipe()
left.send([1, 2])
left.close()
left.close()
assert right.poll(1)
assert right.recv() == [1, 2]
with suppress(EOFError):
    right.recv()
right.close()
reader, writer = Pipe(duplex=False)
with reader, writer:
    writer.send_bytes(b"one")
    assert reader.recv_bytes() == b"one"
