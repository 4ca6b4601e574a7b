"""What names say of events."""

import pytest

from lawful.learning import vocabulary
from lawful.learning.window_protocol import Word


@pytest.mark.parametrize(
    ("name", "begins", "ends"),
    [
        ("File.close", False, True),
        ("File.__exit__", False, True),
        ("Queue.task_done", False, True),
        ("Server.shutdownNow", False, True),
        ("Lock.acquire_read_lock", True, False),
        ("Lock.__enter__", True, False),
        ("close.read", False, False),  # what it is called by, not what it is in
        ("Shop.disclose", False, False),
        ("Door.reopen", False, False),
        ("open", True, False),
        ("re.Match.start", False, False),  # a position
        ("re.Match.end", False, False),
        ("Job.end", False, True),
    ],
)
def test_words_in_names(name: str, begins: bool, ends: bool) -> None:
    word = Word("func_pre", name)
    assert (vocabulary.begins(word), vocabulary.ends(word)) == (begins, ends)


def test_attributes_say_nothing() -> None:
    assert not vocabulary.ends(Word("field_write", "Bar.closed"))
    assert not vocabulary.begins(Word("field_read", "Bar.start"))


def test_how_objects_are_made() -> None:
    assert vocabulary.makes(Word("new", "File"))
    assert vocabulary.makes(Word("func_post", "open", "result"))
    assert not vocabulary.makes(Word("func_pre", "File.open"))


def test_with() -> None:
    assert vocabulary.enters(Word("func_pre", "File.__enter__"))
    assert vocabulary.exits(Word("func_pre", "File.__aexit__"))
    assert not vocabulary.exits(Word("func_pre", "File.exit"))


def test_what_can_never_be_forgotten_leads_to_nothing() -> None:
    close, enter, leave = (Word("func_pre", f"File.{name}") for name in ("close", "__enter__", "__exit__"))
    read, seek = Word("func_pre", "File.read"), Word("func_pre", "File.seek")
    assert vocabulary.leads(seek, read) and vocabulary.leads(enter, read)
    assert not vocabulary.leads(Word("new", "File"), read)
    assert not vocabulary.leads(Word("func_pre", "File.__init__"), read)
    assert not vocabulary.leads(enter, leave)  # a `with` that is left was entered
    assert not vocabulary.leads(enter, close)  # nor does a `close` need one
    assert not vocabulary.leads(Word("func_pre", "Special.read"), read)  # which calls that of its base class


def test_questions() -> None:
    names = ("T.is_alive", "T.isAlive", "T._is_own_thread", "F.__str__", "T.isolate", "F.exists")
    assert [vocabulary.asks(Word("func_pre", name)) for name in names] == [True, True, True, True, False, False]
    assert not vocabulary.asks(Word("field_write", "T.is_alive"))


def test_steps_and_lives() -> None:
    names = ("F.close", "F.__exit__", "F.flush", "D.commit", "F.read")
    assert [vocabulary.ends_life(Word("func_pre", name)) for name in names] == [True, True, False, False, False]


def test_an_end_needs_nothing_but_what_it_gives_back() -> None:
    acquire, release, stop = (Word("func_pre", f"L.{name}") for name in ("acquire_read", "release_read", "stop"))
    assert not vocabulary.needless(acquire, release)
    assert vocabulary.needless(acquire, stop) and vocabulary.needless(stop, release)
    assert not vocabulary.needless(acquire, Word("func_pre", "L.read"))
