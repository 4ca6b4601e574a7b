"""Runs a program in this process exactly as the interpreter would run it: script, module, folder, zip file or .pyc."""

from __future__ import annotations

import builtins
import os
import stat
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.machinery import SourceFileLoader, SourcelessFileLoader
from importlib.util import MAGIC_NUMBER
from types import CodeType, ModuleType, TracebackType
from typing import Any, NamedTuple, NoReturn, TextIO

from lawful.errors import LawfulError

# Packages that Lawful brings along. The program may have other versions of them, and must import its own.
BUNDLED = ("click", "typing_extensions", "rich", "pygments", "markdown_it", "mdurl")

_former_main: ModuleType | None = None


class Ending(NamedTuple):
    """How the program's main thread ended."""

    code: int
    interrupted: bool = False  # by a KeyboardInterrupt that nobody caught: the process must die by the signal
    exit: SystemExit | None = None  # what is to be raised, so that the interpreter itself deals with it


@dataclass
class LaunchedProgram:
    """A program that is ready to run."""

    name: str  # under which others import its main module
    arguments: Sequence[str]
    folder: str  # where it lies; the search for its project begins here
    _start: Callable[[ModuleType], Callable[[], object]]
    files: Sequence[str]  # where its main module may stand, of those that are known before it runs

    def run(
        self, begin: Callable[[], None], call_without_frames: Callable[[Callable[[], object]], object] | None = None
    ) -> Ending:
        """Run to the end of the main thread; threads and exit handlers are left to the interpreter.

        `begin` is called when everything else is in place. `call_without_frames` calls a function with no Python frame
        below it.
        """
        _make_room(self.folder)
        execute = self._start(_new_main())
        sys.argv[:] = self.arguments
        try:
            begin()
        except KeyboardInterrupt as interrupt:
            return _conclude(interrupt.with_traceback(None))  # it came before the first line of the program
        error = _failure(execute) if call_without_frames is None else _failure(call_without_frames, execute)
        del execute  # or the program's names would live as long as this frame
        return _conclude(error)


def script(words: Sequence[str]) -> LaunchedProgram:
    """The program of `python script.py args`."""
    path = words[0]
    if _is_searchable(path):
        return LaunchedProgram("__main__", words, _absolute(path), lambda main: _in_folder(path), [path, *_mains(path)])
    full = os.path.join(os.getcwd(), path)
    code, loader = _load(path, full, words)
    folder = os.path.dirname(os.path.realpath(path))

    def start(main: ModuleType) -> Callable[[], object]:
        if not sys.flags.safe_path:
            sys.path[0] = folder
        names = main.__dict__
        names["__file__"] = full
        names["__cached__"] = None
        names["__loader__"] = loader
        return partial(exec, code, names)  # no frame of Lawful is below the program's

    name = os.path.splitext(os.path.basename(path))[0]
    return LaunchedProgram(name, words, folder, start, [path])


def module(words: Sequence[str]) -> LaunchedProgram:
    """The program of `python -m module args`."""
    name = words[0]
    folder = os.getcwd()

    def start(main: ModuleType) -> Callable[[], object]:
        if not sys.flags.safe_path:
            sys.path[0] = folder
        return _as_main(name, alter_argv=True)

    # While the module is being searched for, plain Python has "-m" there.
    base = os.path.join(folder, *name.split("."))
    return LaunchedProgram(name, ["-m", *words[1:]], folder, start, [f"{base}.py", *_mains(base)])


def _mains(folder: str) -> list[str]:
    return [os.path.join(folder, f"__main__{suffix}") for suffix in (".py", ".pyc")]


def _in_folder(path: str) -> Callable[[], object]:
    if sys.flags.safe_path:
        sys.path.insert(0, _absolute(path))
    else:
        sys.path[0] = _absolute(path)
    return _as_main("__main__", alter_argv=False)


def _as_main(name: str, *, alter_argv: bool) -> Callable[[], object]:
    # What `python -m` itself calls, and so what it shows in tracebacks.
    import runpy

    call: Callable[[str, bool], object] = runpy._run_module_as_main  # type: ignore[attr-defined]
    return partial(call, name, alter_argv)  # no frame of Lawful is below it


def _absolute(path: str) -> str:
    return os.path.join(os.getcwd(), path) if path != "." else os.getcwd()


def _is_searchable(path: str) -> bool:
    """A folder or a zip file, with a `__main__` in it."""
    for hook in sys.path_hooks:
        try:
            hook(path)
        except ImportError:
            continue
        return True
    return False


def _load(path: str, full: str, words: Sequence[str]) -> tuple[CodeType, SourceFileLoader | SourcelessFileLoader]:
    try:
        with open(path, "rb") as file:
            is_file = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
            content = file.read()
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        hint = "give the program after the options: lawful run [OPTIONS] SCRIPT [ARGUMENTS], or -m MODULE"
        raise LawfulError("run-not-found", f"cannot read the program: {reason}", where=path, hint=hint) from None
    if path.endswith(".pyc") or content[:4] == MAGIC_NUMBER:
        sourceless = SourcelessFileLoader("__main__", full)
        try:
            compiled = sourceless.get_code("__main__")
        except (ImportError, EOFError, ValueError, TypeError):
            compiled = None
        if compiled is None:
            _plain(words)
        return compiled, sourceless
    try:
        code: CodeType = compile(content, full, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError):
        if not is_file:  # it has been read, and can't be again
            raise
        _plain(words)
    return code, SourceFileLoader("__main__", full)


def _plain(words: Sequence[str]) -> NoReturn:
    """Let the interpreter itself run a program that cannot be compiled: it reports why."""
    from subprocess import _args_from_interpreter_flags as flags  # type: ignore[attr-defined]

    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    os.execv(sys.executable, [sys.executable, *flags(), *words])


def _make_room(folder: str) -> None:
    """Let the program import its own modules where Lawful has imported others of the same name."""
    try:
        names = {entry.partition(".")[0] for entry in os.listdir(folder)}
    except OSError:
        names = set()
    # The interpreter itself imports these before a program can bring its own.
    names -= _BEFORE
    names -= {"lawful", "__pycache__", ""}
    names.update(BUNDLED)
    for name in list(sys.modules):
        if name.partition(".")[0] in names:
            del sys.modules[name]


# What every interpreter imports before a program starts, or cannot have twice.
_BEFORE = frozenset(
    "sys builtins marshal posix time zipimport codecs encodings io abc site os stat posixpath genericpath threading"
    " __main__ _thread".split()
)


def _new_main() -> ModuleType:
    global _former_main
    # If it were freed, functions of it that are still running would lose their names.
    _former_main = sys.modules["__main__"]
    main = ModuleType("__main__")
    names = main.__dict__
    names["__annotations__"] = {}
    names["__builtins__"] = builtins
    sys.modules["__main__"] = main
    return main


def _failure(call: Callable[..., object], *args: object) -> BaseException | None:
    """Call it; the exception that ended it, if one did, for the caller to look at when none is being handled."""
    try:
        call(*args)
    except BaseException as error:
        return error
    return None


def _conclude(error: BaseException | None) -> Ending:
    if error is None:
        return Ending(0)
    if isinstance(error, SystemExit):
        return Ending(_exit_code(error), exit=error)
    error.__traceback__ = trace = _without_our_frames(error.__traceback__)
    leave = _show(error, trace)
    if leave is not None:
        return Ending(_exit_code(leave), exit=leave)
    return Ending(1, interrupted=isinstance(error, KeyboardInterrupt))


def _exit_code(error: SystemExit) -> int:
    """The code that the interpreter will make of it. Both may be of classes that the program has made."""
    try:
        code: Any = error.code
    except BaseException:
        return 1
    if code is None:
        return 0
    if not issubclass(type(code), int):
        return 1
    number = int.__int__(code)
    return number & 0xFF if -(1 << 63) <= number < 1 << 63 else 0xFF


def _without_our_frames(trace: TracebackType | None) -> TracebackType | None:
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    return trace


def _show(error: BaseException, trace: TracebackType | None) -> SystemExit | None:
    """Show an uncaught exception as the interpreter does. The program's hook may raise SystemExit: that is returned."""
    if sys.version_info >= (3, 12):
        sys.last_exc = error
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, trace
    missing = not hasattr(sys, "excepthook")
    hook: Any = None if missing else sys.excepthook  # the program may have put anything there
    sys.audit("sys.excepthook", hook, type(error), error, trace)
    if missing:
        _say("sys.excepthook is missing\n")
        sys.__excepthook__(type(error), error, trace)
        return None
    failed = _failure(hook, type(error), error, trace)
    if failed is None or isinstance(failed, SystemExit):
        return failed
    _say("Error in sys.excepthook:\n")
    failed.__traceback__ = _without_our_frames(failed.__traceback__)
    sys.__excepthook__(type(failed), failed, failed.__traceback__)
    _say("\nOriginal exception was:\n")
    sys.__excepthook__(type(error), error, trace)
    return None


def _say(text: str) -> None:
    if sys.stderr is not None:
        sys.stderr.write(text)


def end_with(code: int) -> None:
    """Let the process end with this exit code. For the last exit handler: by then, the interpreter has chosen another.

    Everything the interpreter does at its end is still done: the names in `sys` are among the last that it clears.
    """
    _at_the_very_end(partial(os._exit, code))


def end_interrupted() -> None:
    """Let the process die by SIGINT, as Python does after a KeyboardInterrupt: a shell script then stops, too."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_DFL)
    _at_the_very_end(partial(os.kill, os.getpid(), int(signal.SIGINT)))


def _at_the_very_end(act: Callable[[], object]) -> None:
    streams = [stream for stream in (sys.stdout, sys.stderr) if stream is not None]
    try:
        for stream in streams:
            stream.flush()
    except Exception:
        return  # the interpreter will get the same error, report it, and end with its own exit code

    class WhenFreed:
        # When this is called, globals and builtins are gone.
        def __del__(self, streams: list[TextIO] = streams, Any: type[BaseException] = BaseException) -> None:
            for stream in streams:
                try:  # noqa: SIM105
                    stream.flush()
                except Any:
                    pass
            act()

    vars(sys)["lawful: the end"] = WhenFreed()
