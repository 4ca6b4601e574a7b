"""The child processes as their parent sees them: configuration, requests, reports, output, and how they end."""

from __future__ import annotations

import base64
import inspect
import json
import mmap
import os
import pickle
import selectors
import signal
import struct
import subprocess
import sys
import tempfile
import time
import weakref
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import lawful
from lawful.errors import LawfulError
from lawful.explain.targets import PytestTarget, PythonTarget
from lawful.explain.teachers.python.child_guard import SIZE, exit_text
from lawful.explain.teachers.python.options import ErrorChoice

# The project may have modules that are called like ours, or like those of the standard library: its folder, which is
# the current one, must not be imported from until Lawful has imported all it needs.
_START = """
import sys
sys.path[:] = [each for each in sys.path if each]
before = frozenset(sys.modules)
import importlib.util
spec = importlib.util.spec_from_file_location("lawful", sys.argv[4])
sys.modules["lawful"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sys.modules["lawful"])
files = [int(each) for each in sys.argv[1:4]]
from lawful.explain.teachers.python.child_guard import guard
guard(*files)
from lawful.explain.teachers.python.child_process import main
main(*files, before)
"""
_KEPT = 64 * 1024  # bytes of output
_GRACE = 2.0
_LOADING = 60.0
_TICK = 0.25


class ChildDied(Exception):
    """The child process ended without an answer. `number`: the input that it was at."""

    def __init__(self, status: int, number: int, *, hung: bool) -> None:
        super().__init__("no sign of life" if hung else exit_text(status))
        self.number = number
        self.hung = hung


class ChildHandle:
    """One child process with the target loaded. `seed` is that of its hashes: the order of sets follows from it.
    `seconds`: so long it may take to load the target."""

    def __init__(self, config: Mapping[str, Any], seed: int, seconds: float | None = None) -> None:
        self._loading = _LOADING if seconds is None else seconds
        self._output = b""
        requests, self._requests = os.pipe()
        self._answers, answers = os.pipe()
        printed, self._printing = os.pipe()
        with tempfile.TemporaryFile() as file:
            file.truncate(SIZE)
            self._beats = mmap.mmap(file.fileno(), SIZE)
            try:
                files = (requests, answers, file.fileno())
                self._process = subprocess.Popen(
                    [sys.executable, "-c", _START, *map(str, files), str(lawful.__file__)],
                    stdin=subprocess.DEVNULL,
                    stdout=self._printing,
                    stderr=self._printing,
                    cwd=config["folder"],
                    env={**os.environ, "PYTHONHASHSEED": str(seed % 2**32)},
                    pass_fds=files,
                    start_new_session=True,  # Ctrl-C is for us; and all that the child starts ends with it
                )
            except OSError as error:
                raise LawfulError("explain-child", f"no process could be started: {error.strerror}") from None
            finally:
                for each in (requests, answers, self._printing):
                    os.close(each)
        self._printed = printed
        self._selector = selectors.DefaultSelector()
        for each in (self._answers, printed):
            os.set_blocking(each, False)
            self._selector.register(each, selectors.EVENT_READ)
        self._buffer = b""
        self.close = weakref.finalize(
            self, _close, self._process, self._selector, (self._requests, self._answers, printed)
        )
        self._config = config
        self._ask(config)

    @property
    def output(self) -> str:
        """The end of what the program has printed."""
        return self._output.decode(errors="replace")

    def loaded(self) -> dict[str, Any]:
        """The target's description, once it is loaded."""
        try:
            return next(self._messages(self._loading))
        except ChildDied as died:
            last = self.output.strip().rpartition("\n")[2]
            ended = f"did not end within {self._loading:g} s" if died.hung else f"ended the process ({died})"
            hint = "--seconds says how long it may take" if died.hung else None
            text = f"importing it {ended}{f': {last}' if last else ''}"
            raise LawfulError("explain-load", text, where=self._config["name"], hint=hint) from None

    def run(self, request: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """The reports on a request, up to one with `end`."""
        self._beats[:16] = bytes(16)
        self._ask(request)
        # Tests have fixtures and modules of their own to load first, and nobody knows how long that takes.
        patience = self._loading if "node" in self._config else request["seconds_per_execution"] + _GRACE
        for message in self._messages(patience):
            yield message
            if message.get("end"):
                return

    def _ask(self, request: Mapping[str, Any]) -> None:
        with suppress(BrokenPipeError):  # it is found out where the answer is read
            data = json.dumps(request).encode() + b"\n"
            while data:
                data = data[os.write(self._requests, data) :]

    def _messages(self, patience: float) -> Iterator[dict[str, Any]]:
        """What the child sends. It is ended if it shows no sign of life for so many seconds."""
        beat, since = 0, time.monotonic()
        while True:
            message = self._next()
            if message is not None:
                yield message
                since = time.monotonic()
                continue
            alive = self._receive()
            beats, number, ended, code = struct.unpack("QQQq", self._beats[:SIZE])
            if not alive:
                self._drain()
                try:
                    status = self._process.wait(patience)
                except subprocess.TimeoutExpired:  # it has closed the pipe, and goes on
                    raise self._hung(number) from None
                _, number, ended, code = struct.unpack("QQQq", self._beats[:SIZE])
                raise ChildDied(code if ended else status, number, hung=False)
            if beats != beat:
                beat, since = beats, time.monotonic()
            elif time.monotonic() - since > patience:
                raise self._hung(number)

    def _hung(self, number: int) -> ChildDied:
        """Ends a process that shows no sign of life."""
        self.close()
        return ChildDied(-signal.SIGKILL, number, hung=True)

    def _next(self) -> dict[str, Any] | None:
        """The next message that has arrived; what it says is wrong is raised."""
        if len(self._buffer) < 4:
            return None
        (size,) = struct.unpack_from("I", self._buffer)
        if len(self._buffer) < 4 + size:
            return None
        data, self._buffer = self._buffer[4 : 4 + size], self._buffer[4 + size :]
        message: dict[str, Any] = json.loads(data)
        error = message.get("error")
        if error is not None:
            where = error["where"] or self._config["name"]
            raise LawfulError(error["slug"], error["message"], where=where, hint=error["hint"])
        if "fault" in message:
            raise RuntimeError(f"in the process of the program:\n{message['fault']}")
        return message

    def _receive(self) -> bool:
        """Waits a moment for what the child sends or prints. False: it will send no more."""
        for key, _ in self._selector.select(_TICK):
            with suppress(BlockingIOError):
                data = os.read(key.fd, 1 << 16)
                if key.fd == self._answers:
                    if not data:
                        return False
                    self._buffer += data
                elif data:
                    self._output = (self._output + data)[-_KEPT:]
                else:
                    self._selector.unregister(key.fd)  # it has closed its output
        return True

    def _drain(self) -> None:
        """Reads what the child had printed before it ended."""
        with suppress(BlockingIOError):
            while data := os.read(self._printed, 1 << 16):
                self._output = (self._output + data)[-_KEPT:]


def _close(process: subprocess.Popen[bytes], selector: selectors.BaseSelector, files: tuple[int, ...]) -> None:
    selector.close()
    for each in files:
        with suppress(OSError):
            os.close(each)
    # The process that guards the program ends it and all that it has begun, unless the program has got at it.
    try:
        process.wait(_GRACE)
    except subprocess.TimeoutExpired:
        pass
    finally:
        with suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


class ChildPool:
    """Those of one program, by number."""

    def __init__(self, config: dict[str, Any], seed: int, seconds: float | None) -> None:
        """`config` may be changed as long as none runs."""
        self._config, self._seed, self._seconds = config, seed, seconds
        self._running: dict[int, ChildHandle] = {}
        self._starting: dict[int, ChildHandle] = {}
        self.described: dict[str, Any] = {}  # the program, as a process that has loaded it describes it

    def get(self, number: int = 0) -> ChildHandle:
        """The process with this number, which has loaded the program."""
        host = self._running.get(number)
        if host is None:
            self.start(number)
            host = self._running[number] = self._starting.pop(number)
            self.described = host.loaded()
        return host

    def start(self, number: int) -> None:
        """Lets a process load the program while we do something else."""
        if number not in self._running and number not in self._starting:
            self._starting[number] = ChildHandle(self._config, self._seed + number, self._seconds)

    def run(self, request: Mapping[str, Any], number: int = 0) -> Iterator[dict[str, Any]]:
        """The reports on a request, up to one with `end`, or, if the process died, with how it did as `died`."""
        try:
            yield from self.get(number).run(request)
        except ChildDied as died:
            self._running.pop(number).close()
            yield {"died": died}

    @property
    def output(self) -> str:
        """The end of what the program printed while it ran."""
        return "".join(host.output for host in self._running.values())

    def close(self) -> None:
        """Ends them all. They start again when they are needed."""
        for host in (*self._running.values(), *self._starting.values()):
            host.close()
        self._running.clear()
        self._starting.clear()


def child_config(
    target: PythonTarget | PytestTarget, error: ErrorChoice, inputs: object, folder: Path, *, branches: bool
) -> dict[str, Any]:
    """What a process needs to know before it loads the target."""
    path = [str(folder), *([str(folder / "src")] if (folder / "src").is_dir() else [])]
    path += [os.path.abspath(each) for each in sys.path if each and each not in path]
    config: dict[str, Any] = {
        "name": str(target),
        "folder": str(folder),
        "path": path,
        "error": asdict(error),
        "branches": branches,
    }
    if isinstance(target, PytestTarget):
        if inputs is not None:
            raise LawfulError("explain-inputs", "a test brings its own inputs", where=str(target))
        config |= {"node": str(target), "file": str(target.file)}
    else:
        config |= {"file": target.file and str(target.file), "module": target.module, "function": target.function}
        config["inputs"] = _sent(inputs)
    return config


def _sent(inputs: object) -> dict[str, str] | None:
    """Inputs for another process: by name, or as they are."""
    if inputs is None:
        return None
    if isinstance(inputs, str):
        return {"name": inputs}
    name = getattr(inputs, "__qualname__", "")
    if callable(inputs) and name.isidentifier():
        file = inspect.getsourcefile(inspect.unwrap(inputs))
        if file is not None:
            return {"name": f"{os.path.abspath(file)}:{name}"}
    try:
        given = list(inputs) if isinstance(inputs, Iterator) else inputs
        return {"name": "the inputs", "pickled": base64.b64encode(pickle.dumps(given)).decode()}
    except Exception as error:
        hint = "name a file, as in inputs.py:name"
        message = f"the inputs cannot be sent to another process: {error}"
        raise LawfulError("explain-inputs", message, hint=hint) from None
