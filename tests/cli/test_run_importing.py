"""``lawful run`` on programs that change how modules are imported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from cli.hosted import ENVIRONMENT, USE, hosted

NONE_AT_ALL = """\
import builtins, sys
sys.meta_path.clear()
sys.path, sys.path_hooks = [], []
sys.path_importer_cache.clear()
def refuse(*words, **more): raise ImportError("not today")
builtins.__import__ = refuse
"""
FINDERS = "import sys\nsys.meta_path.clear()\nsys.path.clear()\n"
OTHERS = """\
import pathlib, sys
folder = pathlib.Path(__file__).parent / "others"
folder.mkdir()
for name in ("json", "textwrap", "rich", "msgspec"):
    (folder / f"{name}.py").write_text("raise RuntimeError('not this one')")
sys.path.insert(0, str(folder))
"""
FORBIDDEN = "import sys\nfor name in ('re', 'json', 'html', 'textwrap', 'typing'): sys.modules[name] = None\n"


@pytest.mark.parametrize(
    "change",
    [NONE_AT_ALL, FINDERS, OTHERS, FORBIDDEN],
    ids=["none at all", "finders", "others", "forbidden"],
)
@pytest.mark.parametrize("how", ["report", "raise", "stop"])
@pytest.mark.parametrize("form", ["text", "sarif", "html"])
def test_laws_are_judged_and_the_report_is_written(tmp_path: Path, change: str, how: str, form: str) -> None:
    (tmp_path / "use.py").write_text(change + USE)
    words = ("run", "--law", "files", "--on-violation", how, "--format", form, "--output", "report", "use.py")
    result = hosted(tmp_path, *words)
    assert result.code == 1
    assert "A closed file is not used" in (tmp_path / "report").read_text()
    assert "a fault" not in result.err
    if how == "raise":
        assert result.err.splitlines()[-1].startswith("lawful.Violation: files/use-after-close: A closed file is not")
    assert result.out == ("closed\n" if how == "report" else "")


OWN = "decimal html json random re tempfile textwrap typing rich click xml".split()


@pytest.mark.parametrize("core", ["native", "python"])
@pytest.mark.parametrize("how", ["report", "raise", "stop"])
@pytest.mark.parametrize("form", ["text", "sarif", "html"])
def test_the_program_has_modules_of_these_names_itself(tmp_path: Path, how: str, form: str, core: str) -> None:
    for name in OWN:
        (tmp_path / f"{name}.py").write_text("mine = True\n")
    (tmp_path / "use.py").write_text(
        "import os\n"
        + "".join(f"import {name}; assert {name}.mine\n" for name in OWN)
        + "if os.fork(): os.wait()\nelse: os._exit(0)\n"
        + USE
    )
    words = ("run", "--law", "files", "--on-violation", how, "--format", form, "--output", "report", "use.py")
    result = hosted(tmp_path, *words, env={"LAWFUL_CORE": core})
    assert (result.out, result.code) == ("closed\n" if how == "report" else "", 1)
    assert "A closed file is not used" in (tmp_path / "report").read_text()
    assert "fault" not in result.err
    assert "ImportError" not in result.err


def test_modules_of_the_program_live_as_long_as_without_us(tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text(
        "class Last:\n    def __del__(self): print('gone with', __name__)\nlast = Last()\n"
    )
    (tmp_path / "use.py").write_text("import sys, json\nsys.modules['json'] = json\ndel json\n" + USE)
    words = [sys.executable, "use.py"]
    plain = subprocess.run(words, cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, timeout=60)
    assert "gone" in plain.stdout
    assert hosted(tmp_path, "run", "--law", "files", "-o", "report", "use.py").out == plain.stdout
