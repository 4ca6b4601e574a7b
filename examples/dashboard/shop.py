"""A shop that goes on for a while: most orders are paid before they are shipped, and a receipt is read too late."""

import contextlib
import io
import random
import sys
import time


class Order:
    """Goods that are opened, paid, and shipped, in this order."""

    def open(self) -> None:
        pass

    def pay(self) -> None:
        pass

    def ship(self) -> None:
        pass


def receipt(late: bool) -> None:
    paper = io.StringIO("thank you")
    paper.read()
    paper.close()
    if late:
        with contextlib.suppress(ValueError):
            paper.read()


def serve(rng: random.Random) -> None:
    order = Order()
    order.open()
    if rng.random() > 0.02:
        order.pay()
    order.ship()
    receipt(late=rng.random() < 0.05)


def main(seconds: float) -> None:
    rng = random.Random(1)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        serve(rng)
        time.sleep(0.002)


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 10.0)
