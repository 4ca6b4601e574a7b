"""Accounts that are opened, used and closed, very many of them; now and then one is overdrawn."""

import random
import sys


class Account:
    """Money, which must not be less than nothing."""

    def __init__(self, balance: int) -> None:
        self.balance = balance

    def pay_in(self, amount: int) -> None:
        self.balance += amount

    def pay_out(self, amount: int) -> None:
        self.balance -= amount


def life(rng: random.Random, careless: float) -> None:
    account = Account(100)
    for _ in range(5):
        amount = rng.randrange(1, 50)
        if amount <= account.balance or rng.random() < careless:
            account.pay_out(amount)
        else:
            account.pay_in(amount)


def main(accounts: int, careless: float) -> None:
    rng = random.Random(1)
    for _ in range(accounts):
        life(rng, careless)
    print(f"{accounts:,} accounts were opened and closed.")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5_000, float(sys.argv[2]) if len(sys.argv) > 2 else 0.0)
