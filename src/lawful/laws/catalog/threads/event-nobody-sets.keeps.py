"""An event is set before it is waited for, waited for with a time-out, or set by another thread."""

import threading

early = threading.Event()
early.set()
early.wait()
early.set()
early.wait()

late = threading.Event()
assert not late.wait(0.001)
assert not late.wait(timeout=0)

thread = threading.Thread(target=late.set)
thread.start()
late.wait()
thread.join()
late.clear()
threading.Thread(target=late.set).start()
late.wait()
