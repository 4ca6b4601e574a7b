"""A little shop on SQLite. Each function closes the cursor that it opened, but for one."""

import sqlite3

connection = sqlite3.connect(":memory:")


def prepare():
    cursor = connection.cursor()
    cursor.execute("create table orders (item text, price integer)")
    cursor.close()


def add(item, price):
    cursor = connection.cursor()
    cursor.execute("insert into orders values (?, ?)", (item, price))
    cursor.close()


def total():
    cursor = connection.cursor()
    cursor.execute("select sum(price) from orders")
    try:
        return cursor.fetchone()[0]
    finally:
        cursor.close()


def cheapest():
    cursor = connection.cursor()
    cursor.execute("select item from orders order by price limit 1")
    return cursor.fetchone()[0]


def raise_prices():
    cursor = connection.cursor()
    cursor.execute("update orders set price = price + 1")
    cursor.close()


prepare()
for item, price in [("book", 20), ("pen", 2), ("lamp", 48), ("umbrella", 12), ("chair", 40), ("cushion", 8)]:
    add(item, price)
print(f"The cheapest is the {cheapest()}.")
for _ in range(10):
    raise_prices()
print(f"{total()} in all.")
