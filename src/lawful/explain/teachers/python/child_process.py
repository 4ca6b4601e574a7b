"""The process in which the program runs: it loads the target, and answers the requests of its parent."""

from __future__ import annotations

import base64
import importlib
import importlib.util
import json
import mmap
import os
import pickle
import random
import struct
import sys
import traceback
from collections.abc import Callable, Collection, Mapping
from dataclasses import astuple
from functools import partial
from types import FunctionType
from typing import Any

from lawful.config import find_project
from lawful.errors import LawfulError
from lawful.explain.teachers.python import event_candidates
from lawful.explain.teachers.python.branches import Branches
from lawful.explain.teachers.python.child_guard import SIZE
from lawful.explain.teachers.python.inputs import GivenInputs, Inputs, InputScope
from lawful.explain.teachers.python.loading import (
    LoadedFunction,
    forget_shadowed,
    load_function,
    load_value,
    our_module,
    root_of,
)
from lawful.explain.teachers.python.options import EventChoice
from lawful.explain.teachers.python.request_runs import (
    RunTally,
    outcomes,
    repeated,
    run_inputs,
    run_strategy,
)
from lawful.explain.teachers.python.runner import Runner, flush_output
from lawful.explain.teachers.python.symbolic_runs import run_paths
from lawful.sources.python.scope import Scope as Project

_ALL = 100_000  # so many inputs are all tried if the user did not choose a way
_PYTESTING = "lawful.explain.teachers.python.pytest_runs"


class Channel:
    """Requests and answers. The program may close the pipes, or fork: a process without them has nothing to say."""

    def __init__(self, requests: int, answers: int) -> None:
        self._requests, self._answers = requests, answers
        for each in (requests, answers):
            os.set_inheritable(each, False)
        self._known = {each: _identity(each) for each in (requests, answers)}
        self._incoming = os.fdopen(requests, "rb", closefd=False)
        self.adopt()

    def adopt(self) -> None:
        """This process, a fork, is now the one that answers."""
        self._owner = os.getpid()

    def send(self, message: dict[str, Any]) -> None:
        """Answers."""
        self._check(self._answers)
        data = json.dumps(message).encode()
        data = struct.pack("I", len(data)) + data
        try:
            while data:
                data = data[os.write(self._answers, data) :]
        except OSError:
            os._exit(1)

    def wait(self) -> dict[str, Any] | None:
        """The next request, if there are more."""
        self._check(self._requests)
        line = self._incoming.readline()
        return json.loads(line) if line else None

    def _check(self, file: int) -> None:
        if os.getpid() != self._owner:
            os._exit(0)  # a fork that the program made while it was loaded
        if _identity(file) != self._known[file]:
            os._exit(1)  # closed, and perhaps another file of the program by now


def _identity(file: int) -> tuple[int, int] | None:
    try:
        found = os.fstat(file)
    except OSError:
        return None
    return found.st_dev, found.st_ino


class ChildProcess:
    """The program, loaded, and how it is watched."""

    def __init__(self, config: Mapping[str, Any], beats: mmap.mmap, channel: Channel) -> None:
        self.config, self._channel = config, channel
        self.send, self.wait = channel.send, channel.wait
        self._beats = beats
        self._count = 0
        self.node: str | None = config.get("node")
        self.project = Project(project=find_project(config.get("file") or "."))
        self.runner = Runner(config["error"], self.project)
        self.branches: Branches | None = None
        if config["branches"]:
            self.branches = Branches(self.runner.recorder)
            self.branches.install(self.project.own)
        self.loaded: LoadedFunction | None = None
        self._given: Any = None

    def beat(self, number: int) -> None:
        """Shows the parent that something goes on, and with which input."""
        self._count += 1
        struct.pack_into("QQ", self._beats, 0, self._count, number)

    def load(self) -> None:
        """Loads the target, and says which events it could have."""
        if self.node is not None:
            if importlib.util.find_spec("pytest") is None:
                message = "pytest is not installed"
                raise LawfulError("explain-pytest", message, hint="name a function as file.py:function")
            our_module(_PYTESTING)  # once for all the processes in which it will run

            def begin(functions: list[Any]) -> RunTally | None:
                self._describe(functions)
                request = self.wait()  # pytest need not load everything again for the first run
                return None if request is None else self._tally(request)

            return self._run_pytest(begin)
        config = self.config
        before = random.getstate()
        self.loaded = load_function(config.get("file"), config.get("module"), config["function"], self.branches)
        if random.getstate() != before:
            self.runner.random_state = random.getstate()
        given = config.get("inputs") or {}
        if "pickled" in given:
            self._given = _unpickled(given["pickled"])
        elif given:
            self._given = load_value(given["name"], config["folder"])
        self._describe([self.loaded.function])

    def _describe(self, targets: list[Any]) -> None:
        hidden = [each for target in targets for each in _functions(target)]
        functions = event_candidates.own_functions(self.project, hidden)
        labels = event_candidates.labels(functions)
        numbers = {id(function.code): number for number, function in enumerate(functions)}
        codes = (id(function.__code__) for function in hidden)
        starts = [numbers[code] for code in codes if code in numbers]
        wanted = event_candidates.reachable(functions, starts)
        file = self.project.event_file
        emitted = event_candidates.emits(self.project)
        arms = [] if self.branches is None else self.branches.arms
        self.send(
            {
                "functions": [f.as_json(label, file(f.file)) for f, label in zip(functions, labels, strict=True)],
                "targets": starts,
                "strategy": _is_strategy(self._given),
                "reachable": sorted(wanted),
                "emits": [{"name": each.name, "file": file(each.file), "line": each.line} for each in emitted],
                "arms": [[*astuple(arm), file(arm.file)] for arm in arms],
            }
        )

    def run(self, request: Mapping[str, Any]) -> None:
        """Does what the parent asks for, and reports."""
        if self.node is not None:
            return self._run_pytest(lambda _: self._tally(request))
        tally = self._tally(request)
        assert self.loaded is not None
        function, isolated = self.loaded.function, request["isolated"]
        way, inputs = self._inputs(request)
        if inputs is None:
            end = run_strategy(function, self._given, tally, size=request["samples"], seed=request["seed"])
        elif "again" in request:
            self.send({"end": True, "again": outcomes(function, inputs, tally, request["again"], isolated)})
            return
        elif "texts" in request:
            self.send({"end": True, "repeated": repeated(function, inputs, tally, request["texts"], isolated)})
            return
        elif way == "symbolic":
            assert isinstance(inputs, InputScope)
            end = run_paths(function, inputs, request["bound"], tally)
        else:
            end = run_inputs(function, inputs, tally, request.get("numbers"), request["start"], isolated)
        self._finish(end, way)

    def _run_pytest(self, begin: Callable[[list[Any]], RunTally | None]) -> None:
        def test() -> None:
            end = our_module(_PYTESTING).run(self.node, self.config["folder"], begin)
            if end is not None:
                self._finish(end, "testing")

        self._in_fork(test)

    def _tally(self, request: Mapping[str, Any]) -> RunTally:
        """Begins to watch as the request says, and to count."""
        keys: list[tuple[Any, ...]] = [tuple(key) for key in request["keys"]]
        kinds = {key[0] for key in keys}
        look = request.get("discover")
        self.runner.recorder.watch(keys, None if look is None else _discovering(look))
        if self.branches is not None:
            self.branches.begin()
        calls = "calls" in kinds or (look is not None and "calls" in look["kinds"])
        self.runner.watch.begin(entries="entries" in kinds, calls=calls)
        self.runner.seconds = request["seconds_per_execution"]
        self.runner.most = request["most"]
        self.runner.memory.allow(request["megabytes"])
        limits = (request[name] for name in ("paths", "words", "seconds"))
        return RunTally(self.send, self.beat, self.runner, *limits)

    def _finish(self, end: dict[str, Any], way: str) -> None:
        self.send({**end, "way": way, "discovered": self.runner.recorder.discovered})

    def _inputs(self, request: Mapping[str, Any]) -> tuple[str, Inputs | None]:
        """The way, if it was left open, and the inputs that it goes through; none, if Hypothesis draws them."""
        loaded, way, bound = self.loaded, request["way"], request["bound"]
        assert loaded is not None
        if self._given is not None:
            if way == "symbolic":
                message = "Lawful cannot explore inputs of your own symbolically"
                raise LawfulError("explain-way", message, hint="leave out the inputs, or choose another way")
            if _is_strategy(self._given):
                return "testing", None
            name = (self.config.get("inputs") or {}).get("name", "the inputs")
            return "exhaustive", GivenInputs(self._given, name, loaded.function, bound)
        scope = InputScope(loaded.function, loaded.name, bound, loaded.owner)
        if way == "auto":
            way = "exhaustive" if scope.count <= _ALL else "symbolic" if _has_z3() else "testing"
        if way == "symbolic" and not _has_z3():
            hint = 'pip install "lawful[explain]"'
            raise LawfulError("explain-way", "symbolic execution needs z3, which is not installed", hint=hint)
        if way == "testing":
            return way, scope.sample(request["samples"], request["seed"])
        return way, scope

    def _in_fork(self, work: Callable[[], None]) -> None:
        """Does something in a process of its own that talks to our parent: pytest leaves too much behind."""
        flush_output()
        pid = os.fork()
        if pid == 0:
            status = 1
            self._channel.adopt()
            try:
                _guarded(work, self.send)
                flush_output()
                status = 0
            finally:
                os._exit(status)
        _, status = os.waitpid(pid, 0)
        if status != 0:
            os._exit(1)  # the parent finds out, as if this process had died itself


def _functions(target: Any) -> list[FunctionType]:
    """The functions of a target: a test or a function, and what a decorator or Hypothesis has wrapped."""
    found = []
    inner = getattr(getattr(target, "hypothesis", None), "inner_test", None)
    for each in (target, inner):
        while each is not None:
            each = getattr(each, "__func__", each)
            if isinstance(each, type):
                each = vars(each).get("__init__")
            if isinstance(each, FunctionType):
                found.append(each)
            each = getattr(each, "__wrapped__", None)
    return found


def _discovering(look: Mapping[str, Any]) -> Callable[[tuple[Any, ...], str], bool]:
    events = EventChoice(tuple(look["patterns"]))
    return lambda key, label: key[0] in look["kinds"] and events.matches(str(key[1]), label)


def _is_strategy(value: Any) -> bool:
    module = sys.modules.get("hypothesis.strategies")
    return module is not None and isinstance(value, module.SearchStrategy)


def _unpickled(text: str) -> Any:
    try:
        return pickle.loads(base64.b64decode(text))
    except Exception as error:
        message = f"the inputs do not arrive in another process: {type(error).__name__}: {error}"
        raise LawfulError("explain-inputs", message, hint="name a file, as in inputs.py:name") from None


def _has_z3() -> bool:
    return importlib.util.find_spec("z3") is not None


def _guarded(work: Callable[[], None], send: Callable[[dict[str, Any]], None]) -> None:
    try:
        work()
    except LawfulError as error:
        send({"error": {"slug": error.slug, "message": error.message, "where": error.where, "hint": error.hint}})
    except Exception as error:
        send({"fault": "".join(traceback.format_exception(error))})


def _prepare(config: Mapping[str, Any]) -> None:
    """Imports what is otherwise imported when it is needed."""
    names = ["lawful.sources.python.encode", "asyncio"]
    if config.get("node") is not None and importlib.util.find_spec("pytest"):
        names.append(_PYTESTING)
    if config.get("node") is None and _has_z3():
        names += [f"lawful.explain.teachers.python.{name}" for name in ("symbolic_paths", "symbolic_values")]
    for name in names:
        importlib.import_module(name)


def main(requests: int, answers: int, beats: int, before: Collection[str]) -> None:
    """Answers requests until the last. `before`: the modules that Python had imported when it started."""
    sys.dont_write_bytecode = True
    shown = mmap.mmap(beats, SIZE)
    os.close(beats)
    channel = Channel(requests, answers)
    child: ChildProcess | None = None

    def load(config: dict[str, Any]) -> None:
        nonlocal child
        file, folder = config.get("file"), config["folder"]
        folders = [folder, os.path.join(folder, "src"), *([str(root_of(file)[1])] if file else [])]
        forget_shadowed(folders, before, lambda: _prepare(config))
        sys.path[:] = config["path"]
        sys.argv[:] = [file or ""]
        child = ChildProcess(config, shown, channel)
        child.load()

    while (request := channel.wait()) is not None:
        _guarded(partial(load if child is None else child.run, request), channel.send)
    os._exit(0)
