"""Threads are made daemons before they start."""

import threading

thread = threading.Thread(target=print)
thread.daemon = True
thread.start()
thread.join()
assert thread.daemon
thread = threading.Thread(target=print, daemon=True)
thread.start()
thread.join()
assert not threading.current_thread().daemon
