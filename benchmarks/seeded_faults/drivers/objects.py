"""Keeps objects in a database file: stores, reads, undoes, packs, keeps blobs, and opens it all again."""

import os
import tempfile
import threading

import transaction
import ZODB
import ZODB.blob
import ZODB.FileStorage
import ZODB.MappingStorage
from BTrees.OOBTree import OOBTree
from persistent.mapping import PersistentMapping


def work(database, rounds):
    connection = database.open()
    root = connection.root()
    for number in range(rounds):
        root[f"tree{number}"] = OOBTree({f"key{each}": PersistentMapping(value=each) for each in range(10)})
        transaction.get().note(f"round {number}")
        transaction.commit()
        root["last"] = number
        if number % 4 == 3:
            transaction.savepoint()
        root["other"] = PersistentMapping(number=number)
        transaction.commit()
        root["never"] = number
        transaction.abort()
    connection.cacheMinimize()
    for number in range(rounds):
        sum(each["value"] for each in root[f"tree{number}"].values())
    connection.close()


def more(database):
    with database.transaction() as connection:
        connection.root()["by hand"] = ZODB.blob.Blob(b"some bytes" * 20)
    connection = database.open()
    with connection.root()["by hand"].open("r") as file:
        file.read()
    with connection.root()["by hand"].open("w") as file:
        file.write(b"others")
    transaction.commit()
    oid = connection.root()._p_oid
    connection.close()
    for each in database.undoLog(0, 3):
        database.undo(each["id"])
        transaction.commit()
        break
    database.history(oid, size=3)
    database.storage.loadBefore(oid, database.lastTransaction())
    database.pack()
    database.cacheSize()
    database.getSize()
    database.connectionDebugInfo()


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "data.fs")
        for _ in range(4):
            database = ZODB.DB(ZODB.FileStorage.FileStorage(path, blob_dir=os.path.join(folder, "blobs")))
            work(database, 4)
            more(database)
            threads = [threading.Thread(target=work, args=(database, 1)) for _ in range(1)]
            for thread in threads:
                thread.start()
                thread.join()
            database.close()
        storage = ZODB.FileStorage.FileStorage(path, read_only=True)
        for each in storage.iterator():
            list(each)
        print(len(storage) > 0)
        storage.close()
        database = ZODB.DB(ZODB.MappingStorage.MappingStorage())
        work(database, 3)
        database.pack()
        database.close()


if __name__ == "__main__":
    main()
