"""Git revisions are taken out without a trace in the user's folder."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from lawful.errors import LawfulError
from lawful.explain import revisions

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def git(folder: Path, *words: str) -> str:
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(
        ("git", *identity, *words), cwd=folder, check=True, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    return done.stdout


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "sub").mkdir(parents=True)
    git(folder, "init", "--quiet")
    (folder / ".gitattributes").write_text("secret.txt export-ignore\n")
    (folder / "secret.txt").write_text("one\n")
    (folder / "sub" / "a.py").write_text("old = 1\n")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "one")
    (folder / "sub" / "a.py").write_text("new = 2\n")
    (folder / "later").mkdir()
    (folder / "later" / "b.py").write_text("")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "two")
    return folder


def snapshot(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_revision_is_written_elsewhere(project: Path) -> None:
    (project / "sub" / "a.py").write_text("changed = 3\n")
    (project / "untracked.txt").write_text("x")
    git(project, "add", "untracked.txt")
    before = snapshot(project)
    with revisions.open_version("HEAD~1", str(project)) as old, revisions.open_version("HEAD", str(project)) as new:
        assert (Path(old.folder) / "sub" / "a.py").read_text() == "old = 1\n"
        assert (Path(new.folder) / "sub" / "a.py").read_text() == "new = 2\n"
        assert (Path(old.folder) / "secret.txt").exists(), "what is left out of archives is part of the program"
        assert not (Path(new.folder) / "untracked.txt").exists()
        assert (old.name, new.name) == ("HEAD~1", "HEAD")
        assert old.shown(f"{old.folder}/sub/a.py") == "HEAD~1:sub/a.py"
        assert new.shown("/elsewhere/a.py") == "/elsewhere/a.py"
    assert not os.path.exists(old.folder) and not os.path.exists(new.folder)
    assert snapshot(project) == before


def test_the_folder_one_is_in_is_kept(project: Path) -> None:
    with revisions.open_version("HEAD~1", str(project / "sub")) as old:
        assert sorted(os.listdir(old.folder)) == ["a.py"]


def test_a_folder_that_a_revision_does_not_have(project: Path) -> None:
    with pytest.raises(LawfulError) as caught, revisions.open_version("HEAD~1", str(project / "later")):
        pass
    assert caught.value.slug == "revision-not-found" and "later" in caught.value.message


def test_settings_of_a_hook_do_not_lead_astray(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_DIR", str(project / "nowhere"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(project / "index"))
    with revisions.open_version("HEAD~1", str(project)) as old:
        assert (Path(old.folder) / "sub" / "a.py").read_text() == "old = 1\n"
    assert not (project / "index").exists()


def test_a_folder_is_taken_as_it_is(project: Path) -> None:
    (project / "sub" / "a.py").write_text("changed = 3\n")
    with revisions.open_version(".", str(project / "sub")) as now:
        assert (Path(now.folder) / "a.py").read_text() == "changed = 3\n"
        assert now.shown(f"{now.folder}/a.py") == f"{now.folder}/a.py"
    with revisions.open_version(str(project / "later"), str(project)) as other:
        assert other.folder == str(project / "later")
    assert (project / "sub" / "a.py").exists() and (project / "later").exists()


@pytest.mark.parametrize("name", ["nowhere", "", "--help", "-x", "HEAD~99", "HEAD:sub", "a\0b"])
def test_what_is_neither(project: Path, name: str) -> None:
    with pytest.raises(LawfulError) as caught, revisions.open_version(name, str(project)):
        pass
    assert caught.value.slug == "revision-not-found"


def test_a_folder_outside_of_any_repository(tmp_path: Path) -> None:
    (tmp_path / "v1").mkdir()
    assert not revisions.is_revision("v1", str(tmp_path))
    with revisions.open_version("v1", str(tmp_path)) as version:
        assert version.folder == str(tmp_path / "v1")


def test_without_git_folders_still_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "v1").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path))
    with revisions.open_version("v1", str(tmp_path)) as version:
        assert version.folder == str(tmp_path / "v1")
    with pytest.raises(LawfulError) as caught, revisions.open_version("HEAD", str(tmp_path)):
        pass
    assert caught.value.slug == "revision-not-found" and "git" in str(caught.value.hint)


def test_outside_of_a_repository_git_says_so(tmp_path: Path) -> None:
    with pytest.raises(LawfulError) as caught, revisions.open_version("HEAD", str(tmp_path)):
        pass
    assert "not a git repository" in str(caught.value.hint)


def test_a_whole_path_is_found_in_each_version(project: Path) -> None:
    with revisions.open_version("HEAD~1", str(project)) as old, revisions.open_version(".", str(project)) as new:
        target = f"{project}/sub/a.py:f"
        assert revisions.relative_target(target, [old, new], str(project)) == "sub/a.py:f"
        assert revisions.relative_target(f"{project}/sub/a.py::f", [old, new], str(project)) == "sub/a.py::f"
        assert revisions.relative_target(f"{project}/sub/a.c", [old, new], str(project)) == "sub/a.c"
        for same in ("sub/a.py:f", "sub.a:f", "sub/a.py::f"):
            assert revisions.relative_target(same, [old, new], str(project)) == same
            revisions.check_target_exists(same, [old, new])
        with pytest.raises(LawfulError) as caught:
            revisions.relative_target(f"{project.parent}/x.py:f", [old, new], str(project))
        assert caught.value.slug == "explain-target" and "outside" in caught.value.message


def test_a_whole_path_from_a_folder_below(project: Path) -> None:
    below = project / "sub"
    with revisions.open_version("HEAD~1", str(below)) as old, revisions.open_version("HEAD", str(below)) as new:
        target = revisions.relative_target(f"{project}/.gitattributes.py:f", [old, new], str(below))
        assert target == "../.gitattributes.py:f"


def test_what_a_version_has_not(project: Path) -> None:
    with revisions.open_version("HEAD~1", str(project)) as old, revisions.open_version("HEAD", str(project)) as new:
        for target in ("later/b.py:f", "later.b:f"):
            with pytest.raises(LawfulError) as caught:
                revisions.check_target_exists(target, [old, new])
            assert caught.value.slug == "explain-target" and "HEAD~1" in caught.value.message


def test_a_file_that_versions_share(project: Path) -> None:
    (project / "common.py").write_text("")
    (project / "linked.py").symlink_to(project / "common.py")
    git(project, "add", ".")
    git(project, "commit", "--quiet", "-m", "three")
    with revisions.open_version("HEAD", str(project)) as old, revisions.open_version(".", str(project)) as new:
        with pytest.raises(LawfulError) as caught:
            revisions.check_target_exists("linked.py:f", [old, new])
        assert "outside of HEAD" in caught.value.message
    with revisions.open_version("sub", str(project)) as one, revisions.open_version("later", str(project)) as other:
        with pytest.raises(LawfulError) as caught:
            revisions.check_target_exists("../common.py:f", [one, other])
        assert "the same" in caught.value.message
