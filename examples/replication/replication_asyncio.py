"""The replication system with asyncio: every object has a queue, and each message to it runs as a task of its own."""

from __future__ import annotations

import argparse
import asyncio
import random
from collections.abc import Coroutine
from typing import Any

from parts import SCHEDULES, Command, FileSystem, Item, Schedule


class Active:
    """An object that others reach by its queue only. Its tasks take turns where they wait, as in a cobox."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.inbox: asyncio.Queue[tuple[Any, ...]] = asyncio.Queue()
        self.changed = asyncio.Condition()
        system.start(self.run())

    def tell(self, message: str, *args: Any) -> None:
        self.inbox.put_nowait((message, *args))

    async def run(self) -> None:
        while True:
            message, *args = await self.inbox.get()
            self.system.start(self.handle(message, args))

    async def handle(self, message: str, args: list[Any]) -> None:
        await getattr(self, message)(*args)
        async with self.changed:
            self.changed.notify_all()


class Coordinator(Active):
    """Knows which workers replicate, so that the snapshot is not refreshed under them."""

    def __init__(self, system: System, snapshot: Snapshot) -> None:
        super().__init__(system)
        self.snapshot = snapshot
        self.workers: set[Worker] = set()

    async def start_replication(self, worker: Worker) -> None:
        self.workers.add(worker)
        worker.tell("send_current_id", self.snapshot.version)

    async def finish_replication(self, worker: Worker) -> None:
        self.workers.discard(worker)
        if not self.workers:
            self.snapshot.tell("refresh")


class Snapshot(Active):
    """What is replicated; it does not change while somebody does."""

    def __init__(self, system: System, files: FileSystem) -> None:
        super().__init__(system)
        self.files = files
        self.version = files.version

    async def refresh(self) -> None:
        self.files.refresh()
        self.version = self.files.version

    async def list_items(self, worker: Worker) -> None:
        directories = dict(self.files.directories)
        worker.tell("accept_items", {Item(path) for path in directories})
        worker.tell("accept_entries", [{path: files} for path, files in directories.items()])


class SyncServer(Active):
    """Makes a worker for each job that connects, and knows the schedules."""

    def __init__(self, system: System, coordinator: Coordinator, snapshot: Snapshot) -> None:
        super().__init__(system)
        self.coordinator = coordinator
        self.snapshot = snapshot

    async def get_connection(self, job: ClientJob) -> None:
        worker = self.system.worker(self.system, job, self, self.coordinator)
        worker.tell("execute")
        job.tell("accept_connection", worker)

    async def request_list_schedules(self, worker: Worker) -> None:
        worker.tell("accept_schedules", list(SCHEDULES))

    async def request_schedule(self, worker: Worker, name: str) -> None:
        worker.tell("accept_schedules", [each for each in SCHEDULES if each.name == name])


class Worker(Active):
    """The server's side of a session."""

    def __init__(self, system: System, job: ClientJob, server: SyncServer, coordinator: Coordinator) -> None:
        super().__init__(system)
        self.job = job
        self.server = server
        self.coordinator = coordinator
        self.cmd: Command | Schedule | None = None
        self.items: set[Item] | None = None

    async def execute(self) -> None:
        async with self.changed:
            await self.changed.wait_for(lambda: self.cmd is not None)
        self.request_schedules()

    def request_schedules(self) -> None:
        if self.cmd is Command.ListSchedule:
            self.server.tell("request_list_schedules", self)
        elif isinstance(self.cmd, Schedule):
            self.server.tell("request_schedule", self, self.cmd.name)

    async def command(self, c: Command | Schedule) -> None:
        self.cmd = c

    async def accept_schedules(self, schedules: list[Schedule]) -> None:
        self.job.tell("send_schedules", schedules)
        if self.cmd is not Command.ListSchedule:
            self.coordinator.tell("start_replication", self)

    async def send_current_id(self, id: int) -> None:
        self.job.tell("register_items", self, id)

    async def reply_register_items(self, register: bool) -> None:
        if register:
            self.server.snapshot.tell("list_items", self)
        else:
            self.coordinator.tell("finish_replication", self)
            self.job.tell("end_session")

    async def accept_items(self, items: set[Item]) -> None:
        self.items = items

    async def accept_entries(self, contents: list[dict[str, dict[str, int]]]) -> None:
        async with self.changed:
            await self.changed.wait_for(lambda: self.items is not None)
        for directory in contents:
            for path, files in directory.items():
                for name, content in files.items():
                    self.job.tell("process_file", f"{path}/{name}", content)
        self.coordinator.tell("finish_replication", self)
        self.job.tell("end_session")


class HastyWorker(Worker):
    """The bug of section 7: the field begins with a command, and nobody waits for the one that is sent."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.cmd = Command.ListSchedule

    async def execute(self) -> None:
        self.request_schedules()


class ClientJob(Active):
    """The client's side of a session."""

    def __init__(self, system: System, client: SyncClient, server: SyncServer, wish: Command | Schedule) -> None:
        super().__init__(system)
        self.client = client
        self.server = server
        self.wish = wish
        self.worker: Worker | None = None

    async def execute_job(self) -> None:
        self.server.tell("get_connection", self)

    async def accept_connection(self, worker: Worker) -> None:
        self.worker = worker
        worker.tell("command", self.wish)

    async def send_schedules(self, schedules: list[Schedule]) -> None:
        if self.wish is Command.ListSchedule:
            self.client.tell("schedule_jobs", schedules)

    async def register_items(self, worker: Worker, id: int) -> None:
        worker.tell("reply_register_items", self.client.version < id)
        self.client.version = max(self.client.version, id)

    async def process_file(self, path: str, content: int) -> None:
        self.client.files[path] = content

    async def end_session(self) -> None:
        self.client.tell("job_done")


class SyncClient(Active):
    """A live environment: asks for schedules, and runs a job for each."""

    def __init__(self, system: System, server: SyncServer) -> None:
        super().__init__(system)
        self.server = server
        self.version = 0
        self.files: dict[str, int] = {}
        self.open = 0
        self.done: asyncio.Event = asyncio.Event()

    async def begin(self) -> None:
        ClientJob(self.system, self, self.server, Command.ListSchedule).tell("execute_job")

    async def schedule_jobs(self, schedules: list[Schedule]) -> None:
        self.open += len(schedules)
        for schedule in schedules:
            ClientJob(self.system, self, self.server, schedule).tell("execute_job")

    async def job_done(self) -> None:
        self.open -= 1
        if not self.open:
            self.done.set()


class System:
    """All of it, with some clients."""

    def __init__(self, *, clients: int = 1, seed: int = 0, worker: type[Worker] = Worker) -> None:
        self.tasks: set[asyncio.Task[None]] = set()
        self.failure: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.worker = worker
        snapshot = Snapshot(self, FileSystem(random.Random(seed)))
        server = SyncServer(self, Coordinator(self, snapshot), snapshot)
        self.clients = [SyncClient(self, server) for _ in range(clients)]

    def start(self, coroutine: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(coroutine)
        self.tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self.tasks.discard(task)
        if not task.cancelled() and task.exception() is not None and not self.failure.done():
            self.failure.set_exception(task.exception())  # type: ignore[arg-type]

    async def replicate(self) -> list[dict[str, int]]:
        """Let every client replicate once; what they have then."""
        for client in self.clients:
            client.tell("begin")
        everybody = asyncio.gather(*(client.done.wait() for client in self.clients))
        try:
            await asyncio.wait([everybody, self.failure], return_when=asyncio.FIRST_COMPLETED)
            if self.failure.done():
                self.failure.result()
            self.failure.cancel()
            return [client.files for client in self.clients]
        finally:
            everybody.cancel()
            tasks = list(self.tasks)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, everybody, return_exceptions=True)


async def main(options: argparse.Namespace) -> None:
    worker = HastyWorker if options.bug else Worker
    system = System(clients=options.clients, seed=options.seed, worker=worker)
    for files in await system.replicate():
        print(f"replicated {len(files)} files")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bug", action="store_true", help="with the bug of section 7")
    parser.add_argument("--clients", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    asyncio.run(main(parser.parse_args()))
