"""The command ``lawful`` itself: version, help, completion, and how every kind of failure is told."""

from __future__ import annotations

import importlib
import os
import platform
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import click
import pytest

import lawful
from lawful import core
from lawful.cli import main as cli
from lawful.errors import LawfulError

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """Puts a command named ``stub`` into the table, with the behaviour given."""

    def install(behaviour: Callable[[], object]) -> None:
        module = ModuleType("lawful.cli.stub")
        module.command = click.Command(  # type: ignore[attr-defined]
            "stub", callback=lambda trace: behaviour(), params=[click.Option(["--trace"])], help="A stub."
        )
        monkeypatch.setitem(sys.modules, "lawful.cli.stub", module)
        monkeypatch.setattr(cli, "COMMANDS", (*cli.COMMANDS, cli.CommandEntry("stub", "lawful.cli.stub", "A stub.")))

    return install


def raiser(error: BaseException) -> Callable[[], object]:
    def behaviour() -> object:
        raise error

    return behaviour


def lawful_process(*args: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "lawful", *args],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_version_names_the_core_and_the_python(capsys: Capture) -> None:
    assert cli.main(["--version"]) == 0
    python = f"{platform.python_implementation()} {platform.python_version()}"
    assert capsys.readouterr().out == f"lawful {lawful.__version__} ({core.describe()}, {python})\n"


@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help_lists_the_commands_with_examples_in_80_columns(
    flag: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert cli.main([flag]) == 0
    text = capsys.readouterr().out
    assert text.startswith("Usage: lawful [OPTIONS] COMMAND")
    assert "Examples:\n" in text
    assert all(f"  {entry.name} " in text and entry.help in text for entry in cli.COMMANDS)
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize("entry", cli.COMMANDS, ids=lambda entry: entry.name)
def test_every_command_helps(entry: cli.CommandEntry, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert cli.main([entry.name, "-h"]) == 0
    text = capsys.readouterr().out
    assert text.startswith(f"Usage: lawful {entry.name} ")
    assert "Examples:\n" in text
    assert max(map(len, text.splitlines())) <= 80


def test_without_a_command_the_help_goes_to_stderr(capsys: Capture) -> None:
    assert cli.main([]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("Usage: lawful")


def test_help_and_version_import_no_command_and_nothing_slow() -> None:
    program = (
        "import sys; from lawful.cli.main import main; main(['--help']); main(['--version']);"
        "bad = {'rich', 'msgspec', 'zstandard', 'lawful.cli.check', 'lawful.laws'} & set(sys.modules);"
        "sys.exit(f'imported: {bad}' if bad else 0)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_an_unknown_command_brings_a_hint(capsys: Capture) -> None:
    assert cli.main(["chekc"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error[usage]: no such command")
    assert err.endswith("  hint: did you mean check?\n")


def test_an_unknown_option_brings_a_hint(stub: Callable[..., None], capsys: Capture) -> None:
    stub(lambda: None)
    assert cli.main(["stub", "--tracee", "x"]) == 2
    err = capsys.readouterr().err
    assert err.startswith("error[usage]: no such option")
    assert err.endswith("  hint: did you mean --trace?\n")


def test_other_bad_usage_points_to_the_help(capsys: Capture) -> None:
    assert cli.main(["completion", "tcsh"]) == 2
    err = capsys.readouterr().err
    assert err.startswith("error[usage]: invalid value for ")
    assert err.endswith("  hint: `lawful completion --help` shows what is possible\n")
    assert err.count("\n") == 2


@pytest.mark.parametrize(("answer", "code"), [(None, 0), (0, 0), (1, 1)])
def test_a_command_answers_with_its_exit_code(stub: Callable[..., None], answer: object, code: int) -> None:
    stub(lambda: answer)
    assert cli.main(["stub"]) == code


def test_a_command_may_also_exit(stub: Callable[..., None]) -> None:
    stub(lambda: click.get_current_context().exit(1))
    assert cli.main(["stub"]) == 1


def test_a_lawful_error_is_rendered(stub: Callable[..., None], capsys: Capture) -> None:
    stub(raiser(LawfulError("trace-line", "not JSON", where="t.jsonl:3", hint="look there")))
    assert cli.main(["stub"]) == 2
    assert capsys.readouterr() == ("", "error[trace-line]: t.jsonl:3: not JSON\n  hint: look there\n")


def test_a_file_that_cannot_be_used_is_named(stub: Callable[..., None], capsys: Capture, tmp_path: Path) -> None:
    missing = tmp_path / "missing.jsonl"
    stub(missing.read_text)
    assert cli.main(["stub"]) == 2
    assert capsys.readouterr().err == f"error[file]: {missing}: No such file or directory\n"


@pytest.mark.parametrize("debug", ["0", "1"])
def test_an_unexpected_exception_asks_for_a_report(
    debug: str, stub: Callable[..., None], capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAWFUL_DEBUG", debug)
    stub(raiser(ValueError("odd")))
    assert cli.main(["stub"]) == 2
    err = capsys.readouterr().err
    assert "error[internal]: ValueError: odd\n" in err
    assert "please report it" in err
    assert ("Traceback" in err) is (debug == "1")


@pytest.mark.parametrize(("error", "code"), [(KeyboardInterrupt(), 130), (BrokenPipeError(), 141)])
def test_interruptions_are_quiet(
    error: BaseException,
    code: int,
    stub: Callable[..., None],
    capfd: pytest.CaptureFixture[str],
) -> None:
    stub(raiser(error))
    assert cli.main(["stub"]) == code
    assert capfd.readouterr() == ("", "")


def test_a_reader_that_leaves_early_is_no_error() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "lawful", "--help"], stdout=writer, stderr=subprocess.PIPE, text=True, timeout=60
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")


def shell(command: str) -> subprocess.CompletedProcess[str]:
    """Run a shell command in which `lawful` stands for this Lawful."""
    text = command.replace("lawful ", f"{shlex.quote(sys.executable)} -m lawful ", 1)
    return subprocess.run(text, shell=True, capture_output=True, text=True, timeout=60)


@pytest.fixture
def inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.rml").write_text("a matches {e:'a'};\nMain = a*;\n")
    (tmp_path / "warned.rml").write_text("a matches {e:'a'};\nMain = a* a;\n")
    (tmp_path / "a.jsonl").write_text('{"e":"a"}\n')
    (tmp_path / "b.jsonl").write_text('{"e":"b"}\n')
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("inputs")
@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("check a.rml -t a.jsonl", 0),
        ("check a.rml -t b.jsonl", 1),
        ("check warned.rml -t a.jsonl", 1),
        ("check a.rml -t none.jsonl", 2),
        ("trace head a.jsonl", 0),
        ("trace info a.jsonl", 0),
        ("--version", 0),
    ],
)
def test_streams_may_be_closed(command: str, code: int, closed: str) -> None:
    whole, done = shell(f"lawful {command}"), shell(f"lawful {command} {closed}")
    assert (whole.returncode, done.returncode) == (code, code)
    assert done.stdout == ("" if closed.startswith(">&-") else whole.stdout)
    assert done.stderr == ("" if "2>&-" in closed else whole.stderr)


@pytest.mark.usefixtures("inputs")
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no full device here")
@pytest.mark.parametrize(
    "command",
    [
        "--help",
        "--version",
        "completion bash",
        "laws explain a.rml",
        "laws explain a.rml --dot",
        "trace info a.jsonl",
        "trace info --format json a.jsonl",
        "check a.rml -t a.jsonl",
        "check a.rml -t a.jsonl --format json",
    ],
)
def test_a_full_disk_is_told(command: str) -> None:
    done = shell(f"lawful {command} >/dev/full")
    assert (done.returncode, done.stderr) == (2, "error[file]: <stdout>: No space left on device\n")
    assert shell(f"lawful {command} >/dev/full 2>/dev/full").returncode == 2


@pytest.mark.usefixtures("inputs")
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no full device here")
@pytest.mark.parametrize("form", ["text", "json"])
def test_a_full_disk_under_a_report_is_told(form: str) -> None:
    done = shell(f"lawful check a.rml -t a.jsonl --format {form} --output /dev/full")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error[file]: /dev/full: No space left on device\n"


@pytest.mark.parametrize("error", [OSError("odd"), OSError()])
def test_an_error_that_is_not_the_systems_is_a_fault(
    error: OSError, stub: Callable[..., None], capsys: Capture
) -> None:
    stub(raiser(error))
    assert cli.main(["stub"]) == 2
    assert capsys.readouterr().err.startswith("error[internal]: OSError")


def paths(command: click.Command) -> Iterator[click.Path]:
    for parameter in command.params:
        if isinstance(parameter.type, click.Path):
            yield parameter.type
    for each in command.commands.values() if isinstance(command, click.Group) else ():
        yield from paths(each)


@pytest.mark.parametrize("entry", cli.COMMANDS, ids=lambda entry: entry.name)
def test_click_does_not_judge_files(entry: cli.CommandEntry) -> None:
    # Its check would stand before ours, whose errors have a slug.
    command = importlib.import_module(entry.module).command
    assert not [path for path in paths(command) if path.readable or path.writable or path.exists]
    assert list(paths(command)) or entry.name == "completion"


def test_python_m_lawful_is_the_same_command() -> None:
    done = lawful_process("--version")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"lawful {lawful.__version__} (")


def test_an_impossible_core_is_an_error_like_others() -> None:
    done = lawful_process("--version", LAWFUL_CORE="rust")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error[core-unknown]: ")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script(shell: str, capsys: Capture) -> None:
    assert cli.main(["completion", shell]) == 0
    assert "_LAWFUL_COMPLETE" in capsys.readouterr().out


def test_the_shell_is_given_the_commands() -> None:
    done = lawful_process(_LAWFUL_COMPLETE="fish_complete", COMP_WORDS="lawful", COMP_CWORD="c")
    assert done.returncode == 0
    offered = [
        line.partition(",")[2].partition("\t")[0] for line in done.stdout.splitlines() if line.startswith("plain")
    ]
    assert offered == ["check", "confidence", "completion"]


def options(command: click.Command) -> Iterator[click.Option]:
    """All options of a command and its subcommands."""
    yield from (param for param in command.params if isinstance(param, click.Option) and not param.hidden)
    if isinstance(command, click.Group):
        for each in command.commands.values():
            yield from options(each)


@pytest.mark.parametrize("entry", cli.COMMANDS, ids=lambda entry: entry.name)
def test_every_option_has_a_sentence(entry: cli.CommandEntry) -> None:
    for option in options(importlib.import_module(entry.module).command):
        text = option.help or ""
        assert re.match(r"[A-Z][a-z]+ ", text) and re.search(r"[.)]($|  \[default: )", text), (option.opts, text)
