"""Runs tasks from queues that lie in a database file and in folders: at once, later, again, by priority."""

import contextlib
import datetime
import os
import tempfile

from huey import FileHuey, MemoryHuey, SqliteHuey
from huey.exceptions import TaskException


def use(huey):
    @huey.task()
    def add(one, other):
        return one + other

    @huey.task(retries=1)
    def fail(number):
        raise ValueError(number)

    @huey.task(priority=5)
    def urgent(number):
        with huey.lock_task("one at a time"):
            return number

    results = [add(number, 1) for number in range(10)]
    results += [urgent(number) for number in range(4)]
    failing = fail(1)
    later = [add.schedule((number, 2), delay=60) for number in range(3)]
    never = add.schedule((1, 2), eta=datetime.datetime(2060, 1, 1))
    never.revoke()
    len(huey)
    huey.pending(), huey.scheduled()
    while task := huey.dequeue():
        huey.execute(task)
    soon = datetime.datetime.now(datetime.UTC).replace(tzinfo=None) + datetime.timedelta(days=1)
    for task in huey.read_schedule(soon):
        huey.execute(task, soon)
    print(sum(each.get() or 0 for each in results + later))
    with contextlib.suppress(TaskException):
        failing.get()
    huey.put("kept", [1, 2])
    huey.get("kept", peek=True)
    huey.get("kept")
    huey.all_results()
    huey.result_count()
    add.revoke()
    add.is_revoked()
    add.restore()
    pipe = add.s(1, 2).then(add, 3)
    huey.enqueue(pipe)
    while task := huey.dequeue():
        huey.execute(task)
    huey.storage.put_if_empty("only", b"once")
    huey.storage.has_data_for_key("only")
    huey.flush()


def main():
    with tempfile.TemporaryDirectory() as folder:
        for round in range(4):
            file = SqliteHuey("tasks", filename=os.path.join(folder, f"tasks{round}.db"), fsync=True)
            use(file)
            file.storage.close()
            use(FileHuey("tasks", path=os.path.join(folder, f"tasks{round}")))
            use(MemoryHuey("tasks"))


if __name__ == "__main__":
    main()
