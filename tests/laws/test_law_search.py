"""Laws of other packages and of the project: they are found by name and by area, and never imported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from lawful.errors import LawError
from lawful.laws import catalog, law_search
from lawful.laws.loader import find_laws

LAW = "x matches {event: 'x'}; Main = x*;\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch) -> Path:
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "laws" / "deep").mkdir(parents=True)
    (tmp_path / "laws" / "mine.rml").write_text(LAW)
    (tmp_path / "laws" / "deep" / "other.rml").write_text(LAW)
    (tmp_path / "laws" / "mine.keeps.py").write_text("")
    (tmp_path / "src" / "pkg").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "src" / "pkg")
    return tmp_path


def test_a_project_keeps_its_own(project: Path):
    assert list(find_laws("project")) == ["project/deep/other", "project/mine"]
    assert find_laws("project/mine") == {"project/mine": str(project / "laws" / "mine.rml")}
    with pytest.raises(LawError):
        find_laws("project/missing")


def _package(folder: Path, point: str, value: str) -> None:
    package = folder / "acme_laws"
    package.mkdir()
    (package / "__init__.py").write_text("raise SystemExit('laws are data: nothing is imported')\n")
    (package / "queue.rml").write_text(LAW)
    info = folder / "acme_laws-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-laws\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[lawful.laws]\n{point} = {value}\n")


def test_a_package_ships_laws(tmp_path: Path, monkeypatch):
    _package(tmp_path, "acme", "acme_laws")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert find_laws("acme") == {"acme/queue": str(tmp_path / "acme_laws" / "queue.rml")}
    assert list(find_laws("acme/queue")) == ["acme/queue"]
    done = subprocess.run(
        [sys.executable, "-m", "lawful", "laws", "list", "acme"],
        env={"PYTHONPATH": str(tmp_path), "PATH": ""},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0 and "acme/queue" in done.stdout, done.stderr


def test_a_package_that_is_not_there_is_told(tmp_path: Path, monkeypatch):
    _package(tmp_path, "acme", "acme_laws.missing")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(LawError) as error:
        find_laws("acme")
    assert error.value.slug == "law-folder"


def test_names_of_the_catalogue_come_first(project: Path):
    (project / "laws" / "std.rml").write_text(LAW)
    assert set(find_laws("std")) <= set(catalog.names())
    assert law_search.find("std") == {}


def test_without_a_project_there_is_nothing(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert [each for each in law_search.law_folders() if each.area == "project"] == []
