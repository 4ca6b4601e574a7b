"""Which files are the program's own, and what patterns let through."""

from __future__ import annotations

import os
import pickle
import sysconfig
import zipfile
from pathlib import Path

import pytest

import lawful
from lawful import LawfulError
from lawful.config import find_project
from lawful.sources.python.scope import Scope, _install_path, access, is_public


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = Path(os.path.realpath(tmp_path)) / "project"
    for name in ("src/app/main.py", "tests/test_app.py", "env/lib/python3/site-packages/pkg/mod.py", "env/bin/tool.py"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    (folder / "pyproject.toml").touch()
    (folder / "env" / "pyvenv.cfg").touch()
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize("mark", ["pyproject.toml", "setup.py", "setup.cfg", ".git"])
def test_the_project_is_the_nearest_marked_folder(tmp_path: Path, mark: str) -> None:
    inner = tmp_path / "outer" / "inner"
    inner.mkdir(parents=True)
    script = inner / "script.py"
    script.touch()
    (tmp_path / "outer" / mark).touch()
    assert find_project(script) == tmp_path / "outer"
    assert find_project(inner) == tmp_path / "outer"
    (inner / "setup.py").touch()
    assert find_project(script) == inner


def test_without_a_mark_it_is_the_folder_of_the_script() -> None:
    folder = Path(os.path.abspath(os.sep)) / "no" / "such"
    assert find_project(folder / "script.py") == folder


def test_own_code(project: Path) -> None:
    scope = Scope(project=project)
    for name in ("src/app/main.py", "tests/test_app.py", "not/there/yet.py", "main.py"):
        assert scope.own(str(project / name)), name
        assert scope.own(name), name
        assert scope.event_file(name) == scope.event_file(str(project / name)) == name
    for name in ("env/lib/python3/site-packages/pkg/mod.py", "env/bin/tool.py", "vendor/dist-packages/mod.py"):
        assert not scope.own(str(project / name)), name
        assert not scope.own(name)
    for name in ("<string>", "<frozen importlib._bootstrap>", "", "<stdin>", "a\0b.py"):
        assert not scope.own(name)
        assert scope.event_file(name) == name
    assert not scope.own(str(project.parent / "project2" / "mod.py"))
    assert not scope.own(os.__file__)
    assert not scope.own(pytest.__file__)
    assert scope.event_file(os.__file__) == os.__file__


def test_the_program_may_change_its_folder(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scope = Scope(project=project)
    monkeypatch.chdir(project.parent)
    assert scope.own(os.path.join("src", "app", "main.py"))
    assert not scope.own(os.path.join("..", "elsewhere.py"))
    assert scope.event_file(os.path.join("src", ".", "app", "x", "..", "main.py")) == "src/app/main.py"


def test_the_project_is_found_from_the_current_folder(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project / "src")
    assert Scope().project == project


def test_lawful_is_never_own_code() -> None:
    folder = Path(lawful.__file__).parent
    scope = Scope(project=folder.parent)
    assert not scope.own(str(folder / "core.py"))
    assert scope.lawful(str(folder / "core.py"))
    assert scope.own(str(folder.parent / "other.py")) is ("site-packages" not in folder.parts)
    assert not scope.lawful(str(folder.parent / "lawful_not.py"))


def test_the_standard_library_is_not_own_even_inside_the_project() -> None:
    stdlib = Path(sysconfig.get_path("stdlib"))
    scope = Scope(project=stdlib.parent)
    assert not scope.own(str(stdlib / "json" / "decoder.py"))
    assert not scope.own(str(stdlib / "site-packages" / "mod.py"))


@pytest.mark.parametrize("name", ["stdlib", "platstdlib", "purelib", "platlib"])
def test_where_the_libraries_are(name: str) -> None:
    assert _install_path(name) == sysconfig.get_path(name)


def test_links(project: Path) -> None:
    outside = project.parent / "outside"
    outside.mkdir()
    (outside / "lib.py").touch()
    installed = project / "env" / "lib" / "python3" / "site-packages"
    try:
        (project / "linked").symlink_to(outside)
        (installed / "app").symlink_to(project / "src" / "app")
        (project.parent / "alias").symlink_to(project)
        (project / "pkg").symlink_to(installed / "pkg")
    except OSError:
        pytest.skip("no links on this system")
    scope = Scope(project=project)
    assert scope.own(str(project / "linked" / "lib.py"))
    assert scope.own(str(installed / "app" / "main.py"))
    assert scope.own(str(project.parent / "alias" / "src" / "app" / "main.py"))
    assert not scope.own(str(project / "pkg" / "mod.py"))
    through = Scope(project=project.parent / "alias")
    assert through.own(str(project / "src" / "app" / "main.py"))
    assert through.event_file(str(project / "src" / "app" / "main.py")) == "src/app/main.py"


def test_a_program_in_a_zip_file(project: Path) -> None:
    with zipfile.ZipFile(project / "app.pyz", "w") as archive:
        archive.writestr("__main__.py", "")
    scope = Scope(project=project)
    name = os.path.join("app.pyz", "__main__.py")
    assert scope.own(str(project / name))
    assert scope.event_file(str(project / name)) == "app.pyz/__main__.py"


# -- names ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "name", "module", "wanted"),
    [
        ("sqlite3", "sqlite3.Connection.close", "sqlite3", True),
        ("sqlite3", "sqlite3.connect", "_sqlite3", True),
        ("sqlite3", "sqlite3x.connect", "sqlite3x", False),
        ("sqlite3.Connection", "sqlite3.Connection.close", "sqlite3", True),
        ("sqlite3.Connection", "sqlite3.connect", "_sqlite3", False),
        ("socket", "_socket.socket.send", "_socket", True),
        ("_socket", "_socket.socket.send", "_socket", True),
        ("posixpath", "os.path.join", "posixpath", True),
        ("os", "os.path.join", "posixpath", True),
        ("req*", "requests.get", "requests.api", True),
        ("req*", "unrequested.get", "unrequested", False),
        ("*.models", "app.models.User", "app.models", True),
        ("app.mod?", "app.mod1.f", "app.mod1", True),
        ("stdlib", "list.append", "builtins", True),
        ("stdlib", "generator.send", "builtins", True),
        ("stdlib", "threading.Lock", "_thread", True),
        ("stdlib", "json.decoder.JSONDecoder.decode", "json.decoder", True),
        ("stdlib", "requests.get", "requests.api", False),
        ("stdlib", "pytest.raises", "_pytest.python_api", False),
        ("list", "list.append", "builtins", True),
        ("*", "anything.at.all", "anything", True),
    ],
)
def test_calls(pattern: str, name: str, module: str, wanted: bool) -> None:
    assert Scope(calls=(pattern,)).called(name, module, own=False) is wanted
    assert Scope().called(name, module, own=False) is False
    assert Scope(calls=("nothing", pattern)).called(name, module, own=False) is wanted


def test_everything_else_does_not_mean_own_code() -> None:
    assert not Scope(calls=("*",)).called("app.f", "app", own=True)
    assert Scope(calls=("app",)).called("app.f", "app", own=True)


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("pkg.f", True),
        ("pkg.sub.mod.Class.method", True),
        ("pkg.Class.__init__", True),
        ("pkg.Class.__len__", True),
        ("pkg._f", False),
        ("pkg._impl.f", False),
        ("pkg.Class._method", False),
        ("pkg._Class.method", False),
        ("pkg.Class.__secret", False),
        ("pkg.f.<locals>.g", False),
        ("pkg.<lambda>", False),
        ("pkg.Class.m.<locals>.<genexpr>", False),
        ("pkg.<module>", False),
        ("pkg.__main__.run", False),
        ("package.f", False),
        ("other.pkg.f", False),
    ],
)
def test_public(name: str, wanted: bool) -> None:
    assert Scope(public=("pkg",)).reports([name], "pkg.py") is wanted
    assert Scope(public=("pkg",)).reports(["__main__.f", name], "pkg.py") is wanted
    assert not Scope().reports([name], "pkg.py")


@pytest.mark.parametrize("pattern", ["__main__", "__main__.C", "*"])
def test_the_main_module_is_known_by_the_name_that_its_events_have(pattern: str) -> None:
    scope = Scope(public=(pattern,))
    assert scope.reports(["__main__.C.run"], "app.py")
    assert not scope.reports(["__main__.C._run"], "app.py")
    assert not scope.reports(["__main__.C.run.<locals>.inner"], "app.py")


def test_access() -> None:
    found = [
        access(name) for name in ("a.b", "a._b.c", "a.C.__init__", "a._C.__init__", "a.__b", "__main__.f", "a.____")
    ]
    assert found == ["public", "private", "dunder", "private", "private", "public", "private"]
    assert is_public("f")
    assert is_public("__main__.f")
    assert is_public("__main__.Class.__init__")
    assert not is_public("__main__._f")
    assert not is_public("pkg.__main__.f")


def test_fields() -> None:
    scope = Scope(fields=("app.Account", "lib.*"))
    assert scope.has_field("app.Account", "balance")
    assert scope.has_field("lib.inner.Thing", "_x")
    assert not scope.has_field("app.Accounts", "balance")
    assert not Scope(fields=("app.Account",), exclude=("access:private",)).has_field("app.Account", "_x")


def test_include_and_exclude_by_name() -> None:
    scope = Scope(public=("pkg",), include=("pkg.a.*", "pkg.b.*"), exclude=("*.skip",))
    assert [scope.reports([f"pkg.{each}"], "x.py") for each in ("a.f", "b.f", "c.f", "a.skip")] == [
        True,
        True,
        False,
        False,
    ]


def test_include_and_exclude_by_access() -> None:
    only = Scope(calls=("pkg",), include=("access:dunder",))
    assert only.called("pkg.C.__init__", "pkg", own=False)
    assert not only.called("pkg.C.f", "pkg", own=False)
    without = Scope(calls=("pkg",), exclude=("access:dunder", "access:private"))
    assert [without.called(f"pkg.{each}", "pkg", own=False) for each in ("f", "_f", "C.__len__")] == [
        True,
        False,
        False,
    ]


def test_include_and_exclude_by_file(project: Path) -> None:
    scope = Scope(project=project, include=("src/", "tests/*.py"), exclude=("*/secret.py", "main.py"), public=("pkg",))
    assert scope.own("src/app/main.py")
    assert scope.own(str(project / "tests" / "test_app.py"))
    assert not scope.own("other/x.py")
    assert not scope.own("src/app/secret.py")
    assert not scope.own("main.py")
    assert scope.reports(["pkg.f"], "src/pkg.py")
    assert not scope.reports(["pkg.f"], "lib/pkg.py")


@pytest.mark.parametrize("option", ["calls", "public", "fields", "include", "exclude"])
@pytest.mark.parametrize("pattern", ["", " ", "my-pkg", "a b", "a..b", ".a", "a.", "1a", "a,b"])
def test_wrong_patterns(option: str, pattern: str) -> None:
    with pytest.raises(LawfulError) as caught:
        Scope(**{option: (pattern,)})  # type: ignore[arg-type]
    assert caught.value.slug == "scope-pattern"
    assert caught.value.message.startswith(option)
    assert caught.value.hint


def test_wrong_access() -> None:
    with pytest.raises(LawfulError, match="access:secret"):
        Scope(include=("access:secret",))


def test_one_pattern_may_stand_alone() -> None:
    assert Scope(calls="sqlite3").calls == ("sqlite3",)


def test_a_scope_can_be_sent_to_another_process(project: Path) -> None:
    scope = Scope(calls=("stdlib",), include=("src/",), project=project)
    again = pickle.loads(pickle.dumps(scope))
    assert again == scope
    assert again.own("src/app/main.py")


def test_links_on_the_way_to_lawful_itself_are_not_looked_up(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lawful's threads plan Lawful's code: they would wait for the interpreter's lock at each step of the path."""
    scope = Scope(project=project)
    own = os.path.realpath(lawful.__file__)
    assert scope.own("main.py")  # from here on, paths that are looked up once are known
    looked_up: list[str] = []
    monkeypatch.setattr("lawful.pristine_os.real_path", lambda path: looked_up.append(path) or path)
    assert scope.lawful(own) and not scope.own(own)
    assert looked_up == []
    assert not scope.lawful(os.path.join(os.path.dirname(own), "..", "other.py"))
    assert len(looked_up) == 1
