"""``lawful run`` on programs that change how modules are imported."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.hosted import USE, hosted

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


@pytest.mark.parametrize("change", [NONE_AT_ALL, FINDERS, OTHERS], ids=["none at all", "finders", "others"])
@pytest.mark.parametrize("how", ["report", "raise", "stop"])
@pytest.mark.parametrize("form", ["text", "sarif"])
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
