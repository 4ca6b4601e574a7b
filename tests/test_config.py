"""The table `[tool.lawful]`: what is read from it, what is refused, and how flags come on top."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from lawful import config
from lawful.config import Config
from lawful.errors import LawfulError


def write(folder: Path, text: str) -> Path:
    path = folder / "pyproject.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_every_setting_is_read(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        """
        [project]
        name = "x"
        [tool.lawful]
        laws = ["files", "laws/own.rml"]
        calls = ["sqlite3"]
        public = ["app"]
        fields = ["app.Account"]
        include = ["app.*"]
        exclude = ["access:private"]
        on-violation = "raise"
        fail-on = "never"
        history = 0
        trace = "out/run.jsonl"
        buffer = 10
        when-full = "drop"
        core = "python"
        """,
    )
    found = config.load(str(tmp_path))
    assert found.laws[0] == "files"
    assert Path(found.laws[1]).resolve() == (tmp_path / "laws" / "own.rml").resolve()
    assert found.trace is not None and Path(found.trace) == tmp_path / "out" / "run.jsonl"
    assert (found.calls, found.public, found.fields) == (("sqlite3",), ("app",), ("app.Account",))
    assert (found.include, found.exclude) == (("app.*",), ("access:private",))
    assert (found.on_violation, found.fail_on, found.history, found.buffer) == ("raise", "never", 0, 10)
    assert (found.when_full, found.core, found.file) == ("drop", "python", str(path))


def test_a_file_named_like_a_law_of_the_catalogue_is_the_file(tmp_path: Path) -> None:
    (tmp_path / "files").write_text("")
    write(tmp_path, '[tool.lawful]\nlaws = ["files"]\n')
    assert Path(config.load(str(tmp_path)).laws[0]).resolve() == (tmp_path / "files").resolve()


@pytest.mark.parametrize("text", ["", "[tool.other]\nx = 1\n", "# lawful\n[tool]\nother = 1\n", "tool = 1 # lawful\n"])
def test_projects_that_do_not_speak_of_lawful(text: str, tmp_path: Path) -> None:
    write(tmp_path, text)
    assert config.load(str(tmp_path)) == Config()


def test_a_folder_without_a_project(tmp_path: Path) -> None:
    assert config.load(str(tmp_path)) == Config()
    assert config.load(str(tmp_path / "nowhere")) == Config()


@pytest.mark.parametrize(
    ("text", "slug", "line", "message", "hint"),
    [
        ("[tool.lawful]\nlaw = []", "config-unknown-key", 2, "`law` is no setting", "did you mean `laws`?"),
        (
            "[tool.lawful]\n\non_violation = 'x'",
            "config-unknown-key",
            3,
            "`on_violation`",
            "did you mean `on-violation`?",
        ),
        ("[tool.lawful]\nzzz = 1", "config-unknown-key", 2, "`zzz`", "known are laws, calls"),
        ("[tool.lawful]\nlaws = 'a.rml'", "config-value", 2, "list of strings", 'laws = ["a.rml"]'),
        ("[tool.lawful]\nlaws = [1]", "config-value", 2, "list of strings", None),
        ("[tool.lawful]\nhistory = -1", "config-value", 2, "0 or more", None),
        ("[tool.lawful]\nbuffer = 99999999999999999999", "config-value", 2, "whole number", None),
        ("[tool.lawful]\nhistory = true", "config-value", 2, "whole number", None),
        ("[tool.lawful]\nbuffer = 0", "config-value", 2, "1 or more", None),
        ("[tool.lawful]\ntrace = 1", "config-value", 2, "a string", None),
        (
            "[tool.lawful]\non-violation = 'rise'",
            "config-value",
            2,
            '"report", "raise", "stop"',
            'did you mean "raise"?',
        ),
        ("[tool.lawful]\ncore = 5", "config-value", 2, "one of", None),
        ("tool.lawful.corr = 5", "config-unknown-key", 1, "`corr`", "did you mean `core`?"),
        ("[tool]\nlawful = 5", "config-value", None, "must be a table", None),
        ("[tool.lawful]\nlaws = ", "config-bad-toml", None, "", None),
    ],
)
def test_mistakes_are_told_with_their_line(
    text: str, slug: str, line: int | None, message: str, hint: str | None, tmp_path: Path
) -> None:
    path = write(tmp_path, text + "\n")
    with pytest.raises(LawfulError) as caught:
        config.load(str(tmp_path))
    error = caught.value
    assert error.slug == slug
    assert error.where == (str(path) if line is None else f"{path}:{line}")
    assert message in error.message
    assert error.hint is None if hint is None else hint in (error.hint or "")


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_bytes(b"# lawful \xff\n")
    with pytest.raises(LawfulError) as caught:
        config.load(str(tmp_path))
    assert caught.value.slug == "config-bad-toml"


def test_flags_come_on_top() -> None:
    base = Config(laws=("a", "b"), calls=("x",), history=3, core="python", file="p")
    given = Config(laws=("b", "c"), history=0, when_full="drop")
    assert config.combined(base, given) == Config(
        laws=("a", "b", "c"), calls=("x",), history=0, core="python", when_full="drop", file="p"
    )


def test_every_field_has_its_key() -> None:
    assert {each.name for each in fields(Config)} - {"file"} == set(config.settings(Config))


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["learn.window=50"], config.Config(learn=config.LearnConfig(window=50))),
        (["fields=app.A", "fields=app.B"], config.Config(fields=("app.A", "app.B"))),
        (['fields=["app.A", "app.B"]'], config.Config(fields=("app.A", "app.B"))),
        (["history=3", "history=4"], config.Config(history=4)),
        (["trace=7"], config.Config(trace="7")),
        (['trace="a b.jsonl"'], config.Config(trace="a b.jsonl")),
        (["learn.tune=false"], config.Config(learn=config.LearnConfig(tune=False))),
        (
            ["learn.thresholds.ratio.enforce=0.9"],
            config.Config(learn=config.LearnConfig(thresholds=(("ratio.enforce", 0.9),))),
        ),
        (["sampling.overhead=5%"], config.Config(sampling=config.SamplingConfig(overhead="5%"))),
        (["groups.W=class:app.W"], config.Config(groups=(("W", ("class:app.W",)),))),
        ([], config.Config()),
    ],
)
def test_settings_of_the_command_line(words: list[str], found: config.Config) -> None:
    assert config.from_words(words) == found


@pytest.mark.parametrize(
    ("word", "slug", "said"),
    [
        ("learn.window", "usage", "--set got 'learn.window', which has no `=`"),
        ("=5", "usage", "which has no `=`"),
        ("learn.windw=5", "config-unknown-key", "did you mean `window`?"),
        ("lern.window=5", "config-unknown-key", "did you mean `learn`?"),
        ("learn=5", "config-value", "`learn` must be a table"),
        ("history=-1", "config-value", "--set history=-1: `history` must be a whole number, 0 or more"),
        ("core=fast", "config-value", "`core` must be one of"),
        ("history.x=1", "config-value", "`history` must be"),
        ("explain.execution-seconds=0", "config-value", "a positive number of seconds"),
    ],
)
def test_bad_settings_of_the_command_line(word: str, slug: str, said: str) -> None:
    with pytest.raises(LawfulError) as caught:
        config.from_words([word])
    assert caught.value.slug == slug and said in caught.value.render()
