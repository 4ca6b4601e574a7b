"""Loading laws from files, and what is said when that fails."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lawful import LawError, load_law
from lawful.laws import catalog
from lawful.laws.loader import find_laws

LAW = "a matches {e:'a'};\nMain = a*;\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hash_set.rml").write_text(LAW)
    (tmp_path / "trace.jsonl").write_text("{}\n")
    (tmp_path / "plain").write_text(LAW)
    return tmp_path


def failure(path: str) -> LawError:
    with pytest.raises(LawError) as caught:
        load_law(path)
    return caught.value


def test_a_law_is_known_by_its_suffix(folder: Path) -> None:
    law = load_law("hash_set.rml")
    assert law.name == "hash_set.rml"
    assert law.check([{"e": "a"}]).accepted
    assert load_law(folder / "hash_set.rml").name == str(folder / "hash_set.rml")


def test_the_suffix_may_be_in_capitals_and_the_text_have_a_mark(folder: Path) -> None:
    (folder / "LOUD.RML").write_bytes(b"\xef\xbb\xbf" + LAW.encode())
    assert load_law("LOUD.RML").check([]).accepted


@pytest.mark.parametrize("path", ["hash_sett.rml", "hash_set", "hash_set.rm", "Hash_Set.rml", "hash_set.jsonl"])
def test_a_missing_file_brings_a_similar_name(path: str) -> None:
    error = failure(path)
    assert (error.slug, error.where, error.hint) == ("law-not-found", path, "did you mean hash_set.rml?")


def test_a_missing_file_that_is_like_no_other() -> None:
    assert failure("zebra.rml").hint is None


def test_a_name_of_the_catalogue_is_no_file() -> None:
    for name in ("std", "files", "files/use-after-close"):
        error = failure(name)
        assert error.slug == "law-not-found"
        assert "the catalogue has it" in (error.hint or "")


def test_a_missing_directory_is_named() -> None:
    assert failure("laws/a.rml").hint == "there is no directory laws either"


def test_a_similar_name_keeps_its_directory(folder: Path) -> None:
    (folder / "laws").mkdir()
    (folder / "laws" / "fifo.rml").write_text(LAW)
    assert failure("laws/fifi.rml").hint == f"did you mean {os.path.join('laws', 'fifo.rml')}?"


def test_a_trace_is_no_law() -> None:
    error = failure("trace.jsonl")
    assert error.slug == "law-unknown-kind"
    assert error.hint is not None and "--trace" in error.hint


@pytest.mark.parametrize("path", ["plain", "."])
def test_other_things_are_no_laws_either(path: str) -> None:
    assert failure(path).slug == "law-unknown-kind"


def test_standard_input_is_no_law() -> None:
    error = failure("-")
    assert error.slug == "law-not-found"
    assert error.hint is not None and "standard input" in error.hint


def test_a_law_is_text(folder: Path) -> None:
    (folder / "binary.rml").write_bytes(b"// a\n\xff\xfe")
    error = failure("binary.rml")
    assert (error.slug, error.where) == ("law-not-text", "binary.rml:2")


def test_a_name_that_no_file_can_have() -> None:
    assert failure("a\0.rml").slug == "law-not-found"


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="for root every file is readable")
def test_a_law_that_may_not_be_read(folder: Path) -> None:
    (folder / "hash_set.rml").chmod(0)
    assert failure("hash_set.rml").slug == "law-not-readable"


def test_a_wrong_law_has_its_own_slugs(folder: Path) -> None:
    (folder / "wrong.rml").write_text("Main = ;")
    error = failure("wrong.rml")
    assert error.slug.startswith("rml-")
    assert error.where == "wrong.rml:1:8"


def test_what_a_user_calls_a_law(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "files").mkdir()  # a folder is no law
    (tmp_path / "plain").write_text("")
    assert find_laws("there-is-none.rml") == {"there-is-none.rml": "there-is-none.rml"}
    assert find_laws(Path("plain")) == {"plain": "plain"}
    files = find_laws("files")
    assert list(files) == [name for name in catalog.names() if name.startswith("files/")]
    assert list(find_laws("std")) == catalog.groups()["std"]
    name, path = next(iter(files.items()))
    assert find_laws(name) == {name: path}
    assert load_law(path, name=name).name == name
    assert load_law(path).name == path
    with pytest.raises(LawError) as caught:
        find_laws("fils")
    assert (caught.value.slug, caught.value.hint) == ("law-not-found", "did you mean files?")
