"""Each thread sets a context of its own, or a copy."""

import decimal
import threading

context = decimal.Context(prec=5)
decimal.setcontext(context)
decimal.setcontext(context)


def work() -> None:
    decimal.setcontext(context.copy())
    with decimal.localcontext(context):
        assert decimal.getcontext().prec == 5


threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
