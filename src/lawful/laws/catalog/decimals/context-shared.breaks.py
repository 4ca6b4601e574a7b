"""Two threads set the same context."""

import decimal
import threading

context = decimal.Context(prec=5)
decimal.setcontext(context)


def work() -> None:
    decimal.setcontext(context)  # violation


thread = threading.Thread(target=work)
thread.start()
thread.join()
