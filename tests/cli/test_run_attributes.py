"""What is called by a name may be something else each time: no place is given up for what it called first."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cli.hosted import events, hosted

PROGRAM = """\
import io, socket, types
def close(): pass
class Plain: pass
class Static:
    @staticmethod
    def close(): pass
class OfClass:
    @classmethod
    def close(cls): pass
class Method:
    def close(self): pass
def end(thing):
    thing.close()
plain = Plain()
plain.close = close
module = types.ModuleType("module")
module.close = close
for other in FIRST:
    for _ in range(100):
        end(other)
for _ in range(3):
    end(socket.socket())
    stream = io.BytesIO()
    end(stream)
    try:
        stream.read()
    except ValueError:
        pass
"""
FIRST = ["plain", "module", "Static()", "Static", "OfClass()", "Method()", "plain, module, Static(), Method()"]
NO_SLEEP = "sleeps matches {event: 'func_pre', name: 'time.sleep'};\nMain = sleeps >> empty;\n"


@pytest.fixture(params=FIRST)
def program(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    (tmp_path / "app.py").write_text(PROGRAM.replace("FIRST", f"[{request.param}]"))
    return tmp_path


def test_calls_into_the_library_are_recorded(program: Path) -> None:
    result = hosted(program, "record", "--calls", "stdlib", "-o", "t.jsonl", "app.py")
    assert result.code == 0, result.err
    found = [(each["event"], each["name"]) for each in events(program / "t.jsonl") if each["name"].endswith(".close")]
    one = [(kind, name) for name in ("socket.socket.close", "io.BytesIO.close") for kind in ("func_pre", "func_post")]
    assert found == one * 3


def test_a_law_sees_them(program: Path) -> None:
    result = hosted(program, "run", "--law", "files/use-after-close", "app.py")
    assert result.code == 1
    assert re.search(r"A closed file is not used.*3 times", result.err, re.DOTALL)


def test_a_law_sees_what_is_put_in_the_place_of_a_global(tmp_path: Path) -> None:
    (tmp_path / "law.rml").write_text(
        "sleeps matches {event: 'func_pre', name: 'time.sleep'};\nMain = sleeps >> empty;"
    )
    (tmp_path / "app.py").write_text(
        "import time\ndef sleep(seconds): pass\ndef rest():\n    sleep(0)\n"
        "for _ in range(100): rest()\nsleep = time.sleep\nfor _ in range(3): rest()\n"
    )
    result = hosted(tmp_path, "run", "--law", "law.rml", "app.py")
    assert result.code == 1
    assert "time.sleep is not allowed here" in result.err and "3 times" in result.err
