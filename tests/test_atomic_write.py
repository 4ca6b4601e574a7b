"""Files that are written whole, or stay as they were."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest

from lawful.atomic_write import atomic_write


def put(path: Path, text: str) -> None:
    with atomic_write(str(path)) as file:
        file.write(text)


def test_an_older_file_stays_until_the_new_one_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("older")
    with atomic_write(str(path)) as file:
        file.write("new")
        file.flush()
        assert path.read_text() == "older"
    assert path.read_text() == "new"
    assert os.listdir(tmp_path) == ["a"]


@pytest.mark.parametrize("error", [OSError, ValueError, KeyboardInterrupt])
def test_what_is_never_complete_leaves_nothing(tmp_path: Path, error: type[BaseException]) -> None:
    path = tmp_path / "a"
    path.write_text("older")
    with pytest.raises(error), atomic_write(str(path)) as file:
        file.write("new")
        raise error
    assert path.read_text() == "older"
    assert os.listdir(tmp_path) == ["a"]


def test_who_may_read_it_stays_the_same(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("older")
    path.chmod(0o640)
    put(path, "new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_links_go_on_naming_it(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("older")
    (tmp_path / "soft").symlink_to("a")
    put(tmp_path / "soft", "new")
    assert (tmp_path / "soft").is_symlink()
    os.link(path, tmp_path / "hard")
    put(tmp_path / "hard", "n")
    assert path.read_text() == "n"
    (tmp_path / "nowhere").symlink_to("b")
    put(tmp_path / "nowhere", "other")
    assert (tmp_path / "b").read_text() == "other"


def test_pipes_and_devices_are_written_to(tmp_path: Path) -> None:
    put(Path(os.devnull), "nothing")
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    heard: list[str] = []
    reader = threading.Thread(target=lambda: heard.append(pipe.read_text()))
    reader.start()
    put(pipe, "told")
    reader.join(60)
    assert heard == ["told"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_file_that_cannot_be_replaced_is_written_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a"
    path.write_text("older and longer")

    def busy(*names: str) -> None:
        raise OSError(16, "Device or resource busy")

    monkeypatch.setattr(os, "replace", busy)
    put(path, "new")
    assert path.read_text() == "new"
    assert os.listdir(tmp_path) == ["a"]


def test_a_folder_that_takes_no_further_file(tmp_path: Path) -> None:
    path = tmp_path / ("a" * 255)  # there is no longer name
    path.write_text("older and longer")
    put(path, "new")
    assert path.read_text() == "new"


def test_what_cannot_be_named_is_told(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "no" / "a"):
        with pytest.raises(OSError):
            put(path, "new")
    assert os.listdir(tmp_path) == []
