"""A shop with a mistake: whoever pays more than 50 gets a gift, and the gift goes into a cart that is paid."""


class Cart:
    def __init__(self) -> None:
        self.items: dict[str, int] = {}
        self.paid = 0

    def add(self, item: str, price: int) -> None:
        self.items[item] = price

    def pay(self) -> int:
        self.paid = sum(self.items.values())
        return self.paid


def order(**items: int) -> Cart:
    cart = Cart()
    for item, price in items.items():
        cart.add(item, price)
    if cart.pay() > 50:
        cart.add("umbrella", 12)
    return cart


def main() -> None:
    for cart in (order(book=20, pen=2), order(lamp=60), order(chair=45, cushion=15)):
        print(", ".join(cart.items), "for", cart.paid)


if __name__ == "__main__":
    main()
