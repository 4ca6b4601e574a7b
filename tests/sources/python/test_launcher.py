"""A program that `lawful run` runs prints what it prints without, and ends as it ends without."""

from __future__ import annotations

import os
import py_compile
import re
import signal
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import NamedTuple

import pytest

import lawful
from lawful import core
from lawful.sources.python import tracer_choice

LAWFUL = [sys.executable, str(Path(lawful.__file__).parent / "__main__.py"), "run"]
LAWFUL += ["--law", "files", "--calls", "stdlib", "--set", "fail-on=never", "--output", os.devnull]
LAWFUL += ["--set", f"core={tracer_choice.choose().name}"]  # by name: where it is the slow one, Lawful need not say so

# Each is run as a script by both; what they print and how they end must be the same.
PROGRAMS = {
    "nothing": "",
    "globals": "print(sorted(globals()), [repr(v).partition(' object at')[0] for v in list(globals().values())])",
    "order of globals": "print(list(globals()))",
    "arguments": "import sys; print(sys.argv)",
    "path": "import sys; print(sys.path, sys.flags, sys.executable)",
    "file": "print(__file__, __name__, __spec__, __package__, __builtins__)",
    "main module": "import __main__, sys; print(vars(__main__) is globals(), sys.modules['__main__'] is __main__)",
    "docstring": '"""What it is for."""\nprint(__doc__)',
    "future": "from __future__ import annotations\ndef f(x: nowhere): ...\nprint(f.__annotations__)",
    "no future": "def f(x: int): ...\nprint(f.__annotations__)",
    "annotations": "x: int = 1\nprint(__annotations__)",
    "input": "print(input().upper()); import sys; print(sys.stdin.read())",
    "exception": "def f(x):\n    return 1 / x\n\nf(0)\n",
    "exception at the top": "1 / 0",
    "chained exception": ("try:\n    {}['a']\nexcept KeyError as e:\n    raise ValueError('b') from e\n"),
    "exception in handler": "try:\n    {}['a']\nexcept KeyError:\n    1 / 0\n",
    "exception group": "raise ExceptionGroup('g', [ValueError(1), TypeError(2)])",
    "exception with notes": "e = ValueError(1)\ne.add_note('a note')\nraise e",
    "exception without text": "class E(Exception):\n    def __str__(self): 1 / 0\nraise E()",
    "recursion": "def f(): f()\nf()",
    "recursion through C": (
        "import sys\nsys.setrecursionlimit(sys.version_info < (3, 12) and 1000 or 100_000)\n"
        "def f(n):\n    global last\n    last = n\n    max([n], key=lambda _: f(n + 1))\n"
        "try: f(0)\nexcept RecursionError: print('repeated', last, 'more')"
    ),
    "name error": "print(nowhere)",
    "import error": "import nowhere_to_be_found",
    "syntax error": "def f(:\n",
    "indentation error": "if 1:\nx\n",
    "syntax error in an import": "open('broken_.py', 'w').write('x = = 1')\nimport broken_\n",
    "exit": "import sys; sys.exit()",
    "exit 0": "import sys; sys.exit(0)",
    "exit 3": "import sys; sys.exit(3)",
    "exit 256": "import sys; sys.exit(256)",
    "exit -1": "import sys; sys.exit(-1)",
    "exit True": "import sys; sys.exit(True)",
    "exit text": "import sys; print('out'); sys.exit('an error')",
    "exit float": "import sys; sys.exit(1.5)",
    "exit list": "import sys; sys.exit([1, 2])",
    "exit tuple": "raise SystemExit(1, 2)",
    "exit of a subclass": "class E(SystemExit): pass\nraise E(4)",
    "exit of a class without a code": "class E(SystemExit):\n code = property()\nraise E(4)",
    "exit of a number of its own": (
        "class N(int):\n def __and__(self, other): 1 / 0\n __int__ = __index__ = __lt__ = __and__\n"
        "raise SystemExit(N(5))"
    ),
    "exit in finally": "import sys\ntry:\n    sys.exit(5)\nfinally:\n    print('finally')",
    "exit in a thread": (
        "import sys, threading\nt = threading.Thread(target=lambda: sys.exit(7))\nt.start()\nt.join()\nprint('on')"
    ),
    "os._exit": "import os; print('lost'); os._exit(9)",
    "quit": "quit(2)",
    "interrupt": "raise KeyboardInterrupt",
    "interrupt by signal": "import os, signal; os.kill(os.getpid(), signal.SIGINT); print('never', flush=True)",
    "interrupt caught": "try:\n    raise KeyboardInterrupt\nexcept KeyboardInterrupt:\n    print('caught')",
    "interrupt ignored": (
        "import os, signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nos.kill(os.getpid(), signal.SIGINT)\n"
        "print('on')\nraise KeyboardInterrupt"
    ),
    "terminated": "import os, signal; os.kill(os.getpid(), signal.SIGTERM)",
    "killed": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    "aborted": "import os; os.abort()",
    "atexit": "import atexit; atexit.register(print, 'one'); atexit.register(print, 'two'); print('main')",
    "atexit fails": "import atexit\n@atexit.register\ndef f(): 1 / 0\natexit.register(print, 'two')\n",
    "atexit exits": "import atexit, sys\n@atexit.register\ndef f(): sys.exit(3)\n",
    "atexit after an exception": (
        "import atexit, sys\natexit.register(lambda: print(sys.exc_info(), sys.last_value))\n1/0"
    ),
    "atexit after an exit": "import atexit\natexit.register(print, 'bye')\nraise SystemExit('why')",
    "thread goes on": (
        "import threading, time, atexit\natexit.register(print, 'atexit')\n"
        "def work():\n    time.sleep(0.1)\n    print('thread')\nthreading.Thread(target=work).start()\nprint('main')"
    ),
    "daemon thread": (
        "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()\nprint('main')"
    ),
    "thread fails": "import threading\nt = threading.Thread(target=lambda: 1 / 0, name='T')\nt.start()\nt.join()",
    "thread after an exception": (
        "import threading, time\ndef work():\n    time.sleep(0.1)\n    print('thread')\n"
        "threading.Thread(target=work).start()\n1 / 0"
    ),
    "threads": "import threading; print(threading.enumerate(), threading.active_count(), threading.main_thread())",
    "threading.excepthook": (
        "import threading\nthreading.excepthook = lambda a: print('hook', a.exc_type)\n"
        "t = threading.Thread(target=lambda: 1 / 0)\nt.start()\nt.join()"
    ),
    "executor": (
        "from concurrent.futures import ThreadPoolExecutor\npool = ThreadPoolExecutor(2)\n"
        "pool.submit(lambda: (__import__('time').sleep(0.1), print('worked')))\nprint('main')"
    ),
    "asyncio": "import asyncio\nasync def f():\n    await asyncio.sleep(0)\n    print('in')\nasyncio.run(f())",
    "asyncio fails": "import asyncio\nasync def f():\n    raise ValueError(1)\nasyncio.run(f())",
    "asyncio interrupted": "import asyncio\nasync def f():\n    raise KeyboardInterrupt\nasyncio.run(f())",
    "excepthook": (
        "import sys\nsys.excepthook = lambda *a: print('hook', a[0], a[1], a[2].tb_lineno, a[2].tb_next)\n1 / 0"
    ),
    "excepthook fails": "import sys\ndef hook(*a): raise ValueError('in hook')\nsys.excepthook = hook\n1 / 0",
    "excepthook None": "import sys\nsys.excepthook = None\n1 / 0",
    "excepthook exits": "import sys\nsys.excepthook = lambda *a: sys.exit(6)\n1 / 0",
    "excepthook deleted": "import sys\ndel sys.excepthook\n1 / 0",
    "excepthook is asked about the exception": (
        "import sys, traceback\ndef hook(*a):\n    print(sys.exc_info())\n    traceback.print_exception(*a)\n"
        "sys.excepthook = hook\n1 / 0"
    ),
    "excepthook for an interrupt": (
        "import sys\nsys.excepthook = lambda *a: print('hook', a[0])\nraise KeyboardInterrupt"
    ),
    "unraisable": "class A:\n    def __del__(self): 1 / 0\nA()\nprint('on')",
    "unraisable at the end": "class A:\n    def __del__(self): print('gone')\na = A()\nprint('main')",
    "freed in order": (
        "class A:\n    def __init__(self, n): self.n = n\n    def __del__(self): print('gone', self.n)\n"
        "b = A(1)\na = A(2)\nc = [A(3)]\nc.append(c)\ndef f(x=A(4)): ...\n"
    ),
    "no exception is being handled": "import sys; print(sys.exc_info())",
    "warning": "import warnings; warnings.warn('careful')",
    "deprecation": "import warnings; warnings.warn('old', DeprecationWarning)",
    "resource": "open('x.txt', 'w').write('a')",
    "stderr": "import sys; sys.stderr.write('err\\n'); print('out')",
    "no newline": "print('a', end='')",
    "unicode": "print('\\u00e9\\u4e2d')",
    "stdout closed": "import sys; sys.stdout.close()",
    "stdout replaced": "import sys, io; sys.stdout = io.StringIO(); print('nowhere')",
    "stdout is None": "import sys; sys.stdout = None; print('nowhere')",
    "stderr is None": "import sys; sys.stderr = None; 1 / 0",
    "streams": "import sys; print(sys.stdout.errors, sys.stderr.errors, sys.stdin.errors, sys.stdout.line_buffering)",
    "chdir": "import os; os.mkdir('sub'); os.chdir('sub'); print(__file__); 1 / 0",
    "pickle": "import pickle\nclass A: pass\nprint(type(pickle.loads(pickle.dumps(A()))).__module__)",
    "fork": (
        "import os\nprint('before', flush=True)\nif os.fork() == 0:\n    print('child', flush=True)\n    os._exit(3)\n"
        "print(os.waitstatus_to_exitcode(os.wait()[1]))"
    ),
    "fork and go on": (
        "import os, sys, atexit\natexit.register(lambda: print('end', child == 0, flush=True))\nchild = os.fork()\n"
        "if child == 0:\n    sys.exit(4)\nprint(os.waitstatus_to_exitcode(os.wait()[1]), flush=True)"
    ),
    "fork and fail": (
        "import os\nchild = os.fork()\nif child == 0:\n    1 / 0\nprint(os.waitstatus_to_exitcode(os.wait()[1]))"
    ),
    "exec": "import os, sys; os.execv(sys.executable, [sys.executable, '-c', 'print(1)'])",
    "subprocess": "import subprocess, sys; print(subprocess.run([sys.executable, '-c', 'print(1)']).returncode)",
    "inspect": "import inspect\ndef f(): return 1\nprint(inspect.getsource(f), inspect.getmodule(f))",
    "tracing is off": "import sys; print(sys.gettrace(), sys.getprofile())",
    "gc": "import gc; print(gc.isenabled(), gc.get_threshold())",
    "recursion limit": "import sys; print(sys.getrecursionlimit(), sys.getswitchinterval())",
    "signal handlers": "import signal; print([signal.getsignal(s) for s in (2, 13, 15)])",
    "own click": "open('click.py', 'w').write('print(\"mine\")')\nimport click",
    "own queue": "open('queue.py', 'w').write('print(\"mine\")')\nimport queue",
    "doctest": "def f():\n    '''\n    >>> f()\n    1\n    '''\n    return 2\nimport doctest; doctest.testmod()",
    "unittest": (
        "import unittest\nclass T(unittest.TestCase):\n    def test(self): self.assertEqual(1, 2)\n"
        "unittest.main(argv=['x'], testRunner=unittest.TextTestRunner(stream=open('/dev/null', 'w')))"
    ),
    "dataclasses": "from dataclasses import dataclass\n@dataclass\nclass A:\n    x: 'int'\nprint(A(1))",
    "timeit": "import timeit; print(timeit.timeit('x', 'x = 1', number=1) < 9)",
    "exec of another": "import runpy; open('o.py', 'w').write('print(__name__)'); runpy.run_path('o.py')",
    "logging": "import logging; logging.basicConfig(format='%(filename)s:%(lineno)d'); logging.warning('x')",
}


# Addresses, and the depth of a recursion that went too deep.
# Without the C core some frames of Lawful lie below the program's, and recursion ends a little earlier.
_DEPTH = rb"" if core.native_tracer is not None else rb"|(?<=repeated )\d+(?= more)"
_VARYING = re.compile(rb"0x[0-9a-f]+|(?<=started )\d+" + _DEPTH)


ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "PYTHON"))}


class Result(NamedTuple):
    out: bytes
    err: bytes
    code: int


def execute(command: list[str], folder: Path, **more: object) -> Result:
    done = subprocess.run(
        command,
        cwd=folder,
        env=ENVIRONMENT,
        input=b"hello\nworld\n",
        capture_output=True,
        timeout=60,
        **more,  # type: ignore[call-overload]
    )
    return Result(_VARYING.sub(b"#", done.stdout), _VARYING.sub(b"#", done.stderr), done.returncode)


def compare(words: list[str], folder: Path, python: list[str] | None = None, **more: object) -> Result:
    """Run twice in one folder, plain and watched; the plain result."""
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    flags = python or []
    plain = execute([sys.executable, *flags, *words], folder, **more)
    for path in folder.rglob("*"):
        if path.is_file() and path not in before:
            path.unlink()
    for path in sorted(folder.iterdir(), reverse=True):
        if path.is_dir() and not any(path.iterdir()):
            path.rmdir()
    watched = execute([LAWFUL[0], *flags, *LAWFUL[1:], *words], folder, **more)
    assert watched == plain
    return plain


# Limits of the pure-Python core before sys.monitoring; docs/watching.md names them.
_SEEN_ON_311 = pytest.mark.xfail(sys.version_info < (3, 12), reason="trace functions can be seen", strict=True)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=_SEEN_ON_311) if name == "tracing is off" else name for name in PROGRAMS],
)
def test_a_script_runs_as_it_does_without(name: str, tmp_path: Path) -> None:
    (tmp_path / "prog.py").write_text(PROGRAMS[name] + "\n", encoding="utf-8")
    compare(["prog.py", "-v", "--law", "x", "--"], tmp_path)


# What the interpreter prints about these depends on which of its modules are imported; how it ends does not.
@pytest.mark.parametrize(
    "text", ["import sys; sys.exit(2 ** 70)", "class E:\n def __str__(self): 1 / 0\nraise SystemExit(E())"]
)
def test_odd_exit_codes(text: str, tmp_path: Path) -> None:
    (tmp_path / "prog.py").write_text(text, encoding="utf-8")
    plain = execute([sys.executable, "prog.py"], tmp_path)
    assert execute([*LAWFUL, "prog.py"], tmp_path).code == plain.code != 0


SHOW = (
    "import sys\n"
    "print(__name__, __file__, __spec__ and __spec__.name, __package__, __cached__, sys.argv, sys.path[:2])\n"
)
FAIL = SHOW + "import helper\nhelper.fail()\n"
HELPER = "def fail():\n    raise ValueError('from helper')\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "proj"
    (folder / "pack" / "sub").mkdir(parents=True)
    (folder / "app").mkdir()
    (folder / "deep").mkdir()
    texts = {
        "show.py": SHOW,
        "fail.py": FAIL,
        "helper.py": HELPER,
        "wrong.py": "x = = 1\n",
        "interrupt.py": "raise KeyboardInterrupt\n",
        "exits.py": "raise SystemExit('text')\n",
        "noext": SHOW,
        "pack/__init__.py": "print('init', __name__)\n",
        "pack/__main__.py": "from . import inner\n" + SHOW,
        "pack/inner.py": "print('inner', __name__)\n",
        "pack/sub/__init__.py": "",
        "app/__main__.py": FAIL,
        "app/helper.py": HELPER,
        "deep/run.py": "import helper\n" + SHOW,
        "deep/helper.py": "",
        "nested.py": "import warnings\nwarnings.warn('x', UserWarning)\n",
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    for name in ("app.zip", "app_with_another_name"):
        with zipfile.ZipFile(folder / name, "w") as archive:
            archive.writestr("__main__.py", FAIL)
            archive.writestr("helper.py", HELPER)
    with zipfile.ZipFile(folder / "empty.zip", "w") as archive:
        archive.writestr("other.py", "")
    py_compile.compile(str(folder / "show.py"), cfile=str(folder / "compiled.pyc"))
    py_compile.compile(str(folder / "show.py"), cfile=str(folder / "compiled"))
    (folder / "damaged.pyc").write_bytes(b"no code")
    (folder / "link.py").symlink_to("deep/run.py")
    (folder / "latin.py").write_bytes(b"# coding: latin-1\nprint(ascii('\xe9'))\n1 / 0 # \xe9\n")
    (folder / "bom.py").write_bytes(b"\xef\xbb\xbfprint('\xc3\xa9')\n")
    (folder / "no_utf8.py").write_bytes(b"x = '\xe9'\n")
    (folder / "no_encoding.py").write_bytes(b"# coding: nowhere\nprint(1)\n")
    (folder / "null.py").write_bytes(b"x = 1\0\n")
    (folder / "crlf.py").write_bytes(b"print(1)\r\n1 / 0\r\n")
    return folder


WORDS = {
    "relative": "./show.py a",
    "from below": "deep/../show.py",
    "in a folder": "deep/run.py -q",
    "a link": "link.py",
    "without a suffix": "noext",
    "fails": "fail.py",
    "folder": "app x",
    "folder with a slash": "app/ x",
    "this folder": ".",
    "zip": "app.zip x y",
    "zip by another name": "app_with_another_name",
    "zip without main": "empty.zip",
    "folder without main": "deep",
    "compiled": "compiled.pyc z",
    "compiled without a suffix": "compiled z",
    "damaged": "damaged.pyc",
    "module": "-m show -m x --law y",
    "module in one word": "-mshow -q",
    "module fails": "-m fail",
    "module with a syntax error": "-m wrong",
    "module interrupted": "-m interrupt",
    "module exits": "-m exits",
    "package": "-m pack 1 2",
    "module in a package": "-m pack.inner",
    "package without main": "-m pack.sub",
    "latin": "latin.py",
    "bom": "bom.py",
    "no utf-8": "no_utf8.py",
    "no such encoding": "no_encoding.py",
    "null": "null.py",
    "crlf": "crlf.py",
    "warns": "nested.py",
}


@pytest.mark.parametrize("name", WORDS)
def test_every_kind_of_program_runs_as_it_does_without(name: str, project: Path) -> None:
    compare(WORDS[name].split(), project, ["-B"])


@pytest.mark.parametrize("flags", ["-P", "-I", "-W error", "-OO", "-X dev", "-X utf8", "-u", "-E"])
@pytest.mark.parametrize("words", ["show.py", "-m show", "nested.py", "app"])
def test_flags_of_the_interpreter_have_their_effect(flags: str, words: str, project: Path) -> None:
    compare(words.split(), project, ["-B", *flags.split()])


def test_a_missing_program_is_an_error_of_usage(tmp_path: Path) -> None:
    result = execute([*LAWFUL, "nowhere.py"], tmp_path)
    assert (result.out, result.code) == (b"", 2)
    assert result.err.startswith(b"error[run-not-found]: nowhere.py: cannot read the program: No such file")


def test_a_broken_pipe_is_told_as_without(tmp_path: Path) -> None:
    (tmp_path / "prog.py").write_text("import sys\nprint('x')\n")

    def run(command: list[str]) -> tuple[bytes, int]:
        reader, writer = os.pipe()
        os.close(reader)
        with subprocess.Popen(command, cwd=tmp_path, env=ENVIRONMENT, stdout=writer, stderr=subprocess.PIPE) as process:
            os.close(writer)
            err = process.communicate(timeout=60)[1]
        return err, process.returncode

    plain = run([sys.executable, "prog.py"])
    assert plain[1] == 120
    assert run([*LAWFUL, "prog.py"]) == plain


@pytest.mark.parametrize("closed", ["0", "1", "2", "0 1 2"])
def test_closed_streams_are_as_without(closed: str, tmp_path: Path) -> None:
    text = (
        "import sys; open('seen', 'w').write(str([s is None for s in (sys.stdin, sys.stdout, sys.stderr)]))\n"
        "print('x'); 1/0"
    )
    (tmp_path / "prog.py").write_text(text)

    def run(command: list[str]) -> tuple[bytes, bytes, int, str]:
        redirections = " ".join(f"{number}>&-" for number in closed.split())
        shell = ["/bin/sh", "-c", f'exec "$@" {redirections}', "sh", *command]
        done = subprocess.run(shell, cwd=tmp_path, capture_output=True, timeout=60)
        return done.stdout, done.stderr, done.returncode, (tmp_path / "seen").read_text()

    assert run([*LAWFUL, "prog.py"]) == run([sys.executable, "prog.py"])


def test_an_interrupt_kills_by_the_signal_as_without(tmp_path: Path) -> None:
    (tmp_path / "prog.py").write_text("print('ready', flush=True)\nimport time\nwhile True: time.sleep(0.05)\n")

    def run(command: list[str]) -> tuple[bytes, int]:
        with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            process.send_signal(signal.SIGINT)
            err = process.communicate(timeout=60)[1]
        return err.splitlines()[-1], process.returncode

    assert run([*LAWFUL, "prog.py"]) == run([sys.executable, "prog.py"]) == (b"KeyboardInterrupt", -signal.SIGINT)


def test_a_shadowed_module_is_the_programs_own(tmp_path: Path) -> None:
    for name in ("click", "select", "inspect_", "dis"):
        (tmp_path / f"{name}.py").write_text(f"print('own {name}')\n")
    (tmp_path / "prog.py").write_text("import click, select, dis\n")
    assert compare(["prog.py"], tmp_path).out == b"own click\nown select\nown dis\n"
