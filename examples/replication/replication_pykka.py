"""The replication system with Pykka: every object is an actor, with a thread of its own."""

from __future__ import annotations

import argparse
import random
import threading
from typing import Any

import pykka
from parts import SCHEDULES, Command, FileSystem, Item, Schedule

Ref = pykka.ActorRef


class Coordinator(pykka.ThreadingActor):
    """Knows which workers replicate, so that the snapshot is not refreshed under them."""

    def __init__(self, snapshot: Ref) -> None:
        super().__init__()
        self.snapshot = snapshot
        self.version = 1
        self.workers: set[str] = set()

    def start_replication(self, worker: Ref) -> None:
        self.workers.add(worker.actor_urn)
        worker.proxy().send_current_id.defer(self.version)

    def finish_replication(self, worker: Ref) -> None:
        self.workers.discard(worker.actor_urn)
        if not self.workers:
            self.version = self.snapshot.proxy().refresh().get()


class Snapshot(pykka.ThreadingActor):
    """What is replicated; it does not change while somebody does."""

    def __init__(self, files: FileSystem) -> None:
        super().__init__()
        self.files = files

    def refresh(self) -> int:
        self.files.refresh()
        return self.files.version

    def list_items(self, worker: Ref) -> None:
        directories = dict(self.files.directories)
        proxy = worker.proxy()
        proxy.accept_items.defer({Item(path) for path in directories})
        proxy.accept_entries.defer([{path: files} for path, files in directories.items()])


class SyncServer(pykka.ThreadingActor):
    """Makes a worker for each job that connects, and knows the schedules."""

    def __init__(self, coordinator: Ref, snapshot: Ref, worker: type[Worker]) -> None:
        super().__init__()
        self.coordinator = coordinator
        self.snapshot = snapshot
        self.worker = worker

    def get_connection(self, job: Ref) -> Ref:
        worker = self.worker.start(job, self.actor_ref, self.coordinator, self.snapshot)
        worker.proxy().execute.defer()
        return worker

    def request_list_schedules(self, worker: Ref) -> None:
        worker.proxy().accept_schedules.defer(list(SCHEDULES))

    def request_schedule(self, worker: Ref, name: str) -> None:
        worker.proxy().accept_schedules.defer([each for each in SCHEDULES if each.name == name])


class Worker(pykka.ThreadingActor):
    """The server's side of a session."""

    def __init__(self, job: Ref, server: Ref, coordinator: Ref, snapshot: Ref) -> None:
        super().__init__()
        self.job = job.proxy()
        self.server = server.proxy()
        self.coordinator = coordinator.proxy()
        self.snapshot = snapshot.proxy()
        self.cmd: Command | Schedule | None = None
        self.started = False

    def execute(self) -> None:
        self.started = True
        self.go_on()

    def command(self, c: Command | Schedule) -> None:
        self.cmd = c
        self.go_on()

    def go_on(self) -> None:
        """When it was started, and told what to do."""
        if self.started and self.cmd is not None:
            self.request_schedules()

    def request_schedules(self) -> None:
        if self.cmd is Command.ListSchedule:
            self.server.request_list_schedules.defer(self.actor_ref)
        elif isinstance(self.cmd, Schedule):
            self.server.request_schedule.defer(self.actor_ref, self.cmd.name)

    def accept_schedules(self, schedules: list[Schedule]) -> None:
        self.job.send_schedules.defer(schedules)
        if self.cmd is not Command.ListSchedule:
            self.coordinator.start_replication.defer(self.actor_ref)

    def send_current_id(self, id: int) -> None:
        self.job.register_items.defer(self.actor_ref, id)

    def reply_register_items(self, register: bool) -> None:
        if register:
            self.snapshot.list_items.defer(self.actor_ref)
        else:
            self.finish()

    def accept_items(self, items: set[Item]) -> None:
        self.items = items

    def accept_entries(self, contents: list[dict[str, dict[str, int]]]) -> None:
        for directory in contents:
            for path, files in directory.items():
                for name, content in files.items():
                    self.job.process_file.defer(f"{path}/{name}", content)
        self.finish()

    def finish(self) -> None:
        self.coordinator.finish_replication.defer(self.actor_ref)
        self.job.end_session.defer()


class HastyWorker(Worker):
    """The bug of section 7: the field begins with a command, and nobody waits for the one that is sent."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.cmd = Command.ListSchedule

    def command(self, c: Command | Schedule) -> None:
        self.cmd = c


class ClientJob(pykka.ThreadingActor):
    """The client's side of a session."""

    def __init__(self, client: Ref, server: Ref, wish: Command | Schedule) -> None:
        super().__init__()
        self.client = client.proxy()
        self.server = server.proxy()
        self.wish = wish

    def execute_job(self) -> None:
        worker = self.server.get_connection(self.actor_ref).get()
        worker.proxy().command.defer(self.wish)

    def send_schedules(self, schedules: list[Schedule]) -> None:
        if self.wish is Command.ListSchedule:
            self.client.schedule_jobs.defer(schedules)

    def register_items(self, worker: Ref, id: int) -> None:
        worker.proxy().reply_register_items.defer(self.client.is_older(id).get())

    def process_file(self, path: str, content: int) -> None:
        self.client.take_file.defer(path, content)

    def end_session(self) -> None:
        self.client.job_done.defer()


class SyncClient(pykka.ThreadingActor):
    """A live environment: asks for schedules, and runs a job for each."""

    def __init__(self, server: Ref, done: threading.Event) -> None:
        super().__init__()
        self.server = server
        self.version = 0
        self.files: dict[str, int] = {}
        self.open = 0
        self.done = done

    def begin(self) -> None:
        self._job(Command.ListSchedule)

    def _job(self, wish: Command | Schedule) -> None:
        ClientJob.start(self.actor_ref, self.server, wish).proxy().execute_job.defer()

    def schedule_jobs(self, schedules: list[Schedule]) -> None:
        self.open += len(schedules)
        for schedule in schedules:
            self._job(schedule)

    def is_older(self, id: int) -> bool:
        older = self.version < id
        self.version = max(self.version, id)
        return older

    def take_file(self, path: str, content: int) -> None:
        self.files[path] = content

    def job_done(self) -> None:
        self.open -= 1
        if not self.open:
            self.done.set()


def replicate(
    *, clients: int = 1, seed: int = 0, worker: type[Worker] = Worker, patience: float = 30
) -> list[dict[str, int]]:
    """Let every client replicate once; what they have then. Without an end in time, what they have by then."""
    try:
        snapshot = Snapshot.start(FileSystem(random.Random(seed)))
        server = SyncServer.start(Coordinator.start(snapshot), snapshot, worker)
        ends = [threading.Event() for _ in range(clients)]
        everybody = [SyncClient.start(server, done).proxy() for done in ends]
        for client in everybody:
            client.begin.defer()
        for done in ends:
            done.wait(patience)
        return [client.files.get() for client in everybody]
    finally:
        pykka.ActorRegistry.stop_all()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bug", action="store_true", help="with the bug of section 7")
    parser.add_argument("--clients", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    kind = HastyWorker if options.bug else Worker
    # If a message does not go out, nobody waits for its answer for long.
    for files in replicate(clients=options.clients, seed=options.seed, worker=kind, patience=2 if options.bug else 30):
        print(f"replicated {len(files)} files")
