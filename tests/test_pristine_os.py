"""What Lawful asks of the system by itself answers as the standard library does."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lawful import pristine_os


def test_whether_a_file_is_there(tmp_path: Path) -> None:
    (tmp_path / "there").touch()
    assert pristine_os.exists(os.fspath(tmp_path / "there"))
    assert not pristine_os.exists(os.fspath(tmp_path / "not"))
    assert not pristine_os.exists("a\0b")


@pytest.mark.parametrize(
    "path",
    [
        "",
        "file",
        "link",
        "folder/file",
        "way/file",
        "way/../file",
        "far/file",
        "up/up/file",
        "broken/file",
        "no/./such//file",
    ],
)
def test_links_are_resolved(tmp_path: Path, path: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "file").touch()
    (tmp_path / "file").touch()
    for name, target in (("link", "folder/file"), ("way", "folder"), ("up", "../" + tmp_path.name), ("broken", "none")):
        (tmp_path / name).symlink_to(target)
    (tmp_path / "far").symlink_to(tmp_path / "way" / ".." / "folder")
    asked = os.path.join(tmp_path, path)
    assert pristine_os.real_path(asked) == os.path.realpath(asked)


def test_links_that_lead_nowhere(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    asked = os.fspath(tmp_path / "a" / "file")
    assert pristine_os.real_path(asked) == asked
    assert pristine_os.real_path("/") == "/"
