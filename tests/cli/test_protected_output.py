"""Reports reach the user, and nobody else, whatever the program does with open files."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from cli.hosted import ENVIRONMENT, LAWFUL, USE, events, hosted

FINDING = "app.py:{line}: files/use-after-close"

OPEN = "os.open('log.txt', os.O_WRONLY | os.O_CREAT)"
REDIRECTS = {
    "dup2": "os.dup2(log, 2)",
    "reopened": f"os.close(2); assert {OPEN} == 2",
    "closed": "os.close(2)",
    "its stream": "sys.stderr = os.fdopen(log, 'w')",
    "daemon": f"os.closerange(3, 256); os.dup2({OPEN}, 2)",
}


def program(folder: Path, *lines: str) -> str:
    """A program that opens a file, does this, and then breaks a law; what is told of it."""
    head = "\n".join(["import os, sys", f"log = {OPEN}", *lines, ""])
    (folder / "app.py").write_text(head + USE)
    return FINDING.format(line=head.count("\n") + 4)


@pytest.mark.parametrize("way", REDIRECTS)
def test_a_report_is_not_for_a_file_of_the_program(tmp_path: Path, way: str) -> None:
    told = program(tmp_path, REDIRECTS[way])
    done = hosted(tmp_path, "run", "--law", "files", "app.py")
    assert (done.out, done.code) == ("closed\n", 1)
    assert told in done.err
    assert (tmp_path / "log.txt").read_text() == ""


def test_what_the_program_says_comes_first(tmp_path: Path) -> None:
    told = program(tmp_path, "sys.stderr.write('still in its buffer ')")
    done = hosted(tmp_path, "run", "--law", "files", "app.py")
    assert done.err.startswith(f"still in its buffer {told}")


def test_a_file_is_found_again_if_everything_was_closed(tmp_path: Path) -> None:
    told = program(tmp_path, "os.closerange(2, 4096)", OPEN)
    with open(tmp_path / "err.txt", "w") as err:
        code = subprocess.run(
            [*LAWFUL, "run", "--law", "files", "app.py"], cwd=tmp_path, env=ENVIRONMENT, stderr=err, timeout=60
        ).returncode
    assert code == 1
    assert told in (tmp_path / "err.txt").read_text()
    assert (tmp_path / "log.txt").read_text() == ""


def test_nothing_is_said_if_there_is_no_way_to_the_user(tmp_path: Path) -> None:
    program(tmp_path, "os.closerange(2, 4096)", OPEN)
    done = hosted(tmp_path, "run", "--law", "files", "app.py")
    assert (done.out, done.err, done.code) == ("closed\n", "", 1)
    assert (tmp_path / "log.txt").read_text() == ""


def test_a_terminal_is_found_again(tmp_path: Path) -> None:
    told = program(tmp_path, "os.dup2(log, 2)", "os.closerange(3, 4096)")
    ours, theirs = pty.openpty()
    done = subprocess.run(
        [*LAWFUL, "run", "--law", "files", "app.py"],
        cwd=tmp_path,
        env=ENVIRONMENT | {"NO_COLOR": "1"},
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        timeout=60,
    )
    os.set_blocking(ours, False)
    shown = os.read(ours, 4096).decode()
    os.close(theirs)
    os.close(ours)
    assert done.returncode == 1
    assert told in re.sub(r"\x1b\[[0-9;]*m", "", shown)


@pytest.mark.parametrize("closing", ["", "os.closerange(3, 256)", "os.closerange(3, 4096)"])
def test_files_of_ours_are_out_of_the_way(tmp_path: Path, closing: str) -> None:
    """The program's files have the numbers that they have without us, and nothing of ours is written into them."""
    told = program(tmp_path, closing, f"print(log, {OPEN})")
    plain = subprocess.run(
        [sys.executable, "app.py"], cwd=tmp_path, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True, timeout=60
    )
    done = hosted(tmp_path, "run", "--law", "files", "--trace", "t.jsonl", "-o", "r.txt", "app.py")
    assert (done.out, done.code) == (plain.stdout, 1)
    assert told in (tmp_path / "r.txt").read_text() or closing.endswith("4096)")
    assert (tmp_path / "log.txt").read_text() == ""
    if closing.endswith("4096)"):
        assert "the trace is not complete" in (tmp_path / "r.txt").read_text()
    else:
        assert any(event["name"] == "io.TextIOWrapper.read" for event in events(tmp_path / "t.jsonl"))


def test_who_waits_for_the_end_of_standard_error_does_not_wait_for_a_daemon(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(
        "import os, time\n"
        "if os.fork() == 0:\n"
        "    null = os.open(os.devnull, os.O_RDWR)\n"
        "    for number in range(3): os.dup2(null, number)\n"
        "    while not os.path.exists('go'): time.sleep(0.01)\n"
        "    open('went', 'w').close()\n"
    )
    done = hosted(tmp_path, "run", "--law", "files", "app.py")  # which reads up to the end of both streams
    assert done.code == 0
    assert not (tmp_path / "went").exists()
    (tmp_path / "go").touch()


def test_programs_that_the_program_starts_do_not_inherit_them(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(
        "import os, subprocess, sys\n"
        "code = 'import os; print(sorted(os.listdir(\"/proc/self/fd\"), key=int)[:-1])'\n"
        "subprocess.run([sys.executable, '-c', code], close_fds=False)\n"
    )
    plain = subprocess.run(
        [sys.executable, "app.py"], cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, timeout=60
    )
    done = hosted(tmp_path, "run", "--law", "files", "--trace", "t.jsonl", "-o", "r.txt", "app.py")
    assert done.out == plain.stdout


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no full device here")
@pytest.mark.parametrize("form", ["text", "json", "html"])
def test_a_report_that_cannot_be_written_is_no_fault_of_ours(tmp_path: Path, form: str) -> None:
    program(tmp_path)
    done = hosted(tmp_path, "run", "--law", "files", "--format", form, "-o", "/dev/full", "app.py")
    assert (done.out, done.code) == ("closed\n", 1)
    assert done.err == "lawful: the report is not complete: /dev/full: No space left on device\n"


@pytest.mark.parametrize("hard", ["hard", "1024"], ids=["as many as it wanted", "as many as there can be"])
@pytest.mark.parametrize("form", ["text", "json", "html"])
@pytest.mark.parametrize("output", ["-", "r.txt"])
def test_the_program_may_have_opened_all_the_files_it_can(tmp_path: Path, output: str, form: str, hard: str) -> None:
    (tmp_path / "app.py").write_text(
        "import resource\n"
        "soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)\n"
        f"resource.setrlimit(resource.RLIMIT_NOFILE, (1024, {hard}))\n"
        f"{USE}files = []\n"
        "try:\n    while True: files.append(open('/dev/null'))\n"
        "except OSError as error: print(error.strerror)\n"
    )
    done = hosted(tmp_path, "run", "--law", "files/use-after-close", "--format", form, "-o", output, "app.py")
    assert (done.out, done.code) == ("closed\nToo many open files\n", 1)
    report = done.err if output == "-" else (tmp_path / "r.txt").read_text()
    assert "A closed file is not used" in report
    assert "not complete" not in report


# No file may be larger: what a full disk is to a report, and none that others notice.
NO_ROOM = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (20, 20))"


@pytest.mark.parametrize("form", ["text", "json", "html"])
def test_an_older_report_stays_if_there_is_no_room_for_another(tmp_path: Path, form: str) -> None:
    program(tmp_path, NO_ROOM)
    (tmp_path / "r").write_text("older")
    done = hosted(tmp_path, "run", "--law", "files", "--format", form, "-o", "r", "app.py")
    assert (done.out, done.code) == ("closed\n", 1)
    assert done.err == "lawful: the report is not complete: r: File too large\n"
    assert (tmp_path / "r").read_text() == "older"
    assert sorted(os.listdir(tmp_path)) == ["app.py", "log.txt", "r"]


def test_where_there_is_no_room_there_is_no_empty_report(tmp_path: Path) -> None:
    program(tmp_path, NO_ROOM)
    done = hosted(tmp_path, "run", "--law", "files", "-o", "r.txt", "app.py")
    assert (done.err, done.code) == ("lawful: the report is not complete: r.txt: File too large\n", 1)
    assert not (tmp_path / "r.txt").exists()


GONE = {
    "its folder was emptied": "os.unlink('out/r.txt')",
    "its folder was made anew": "os.unlink('out/r.txt'); os.rmdir('out'); os.mkdir('out')",
    "a link": "",
    "elsewhere": "os.chdir('/')",
}


@pytest.mark.parametrize("way", GONE)
def test_a_report_is_where_it_was_asked_for(tmp_path: Path, way: str) -> None:
    told = program(tmp_path, GONE[way])
    (tmp_path / "out").mkdir()
    if way == "a link":
        (tmp_path / "target").write_text("older")
        (tmp_path / "out/r.txt").symlink_to(tmp_path / "target")
    done = hosted(tmp_path, "run", "--law", "files", "-o", "out/r.txt", "app.py")
    assert (done.err, done.code) == ("", 1)
    assert told in (tmp_path / "out/r.txt").read_text()
    assert (tmp_path / "out/r.txt").is_symlink() == (way == "a link")


def test_a_report_in_the_file_that_is_standard_output_follows_what_the_program_writes(tmp_path: Path) -> None:
    told = program(tmp_path)
    with open(tmp_path / "all.txt", "w") as file:
        words = [*LAWFUL, "run", "--law", "files", "-o", "/dev/stdout", "app.py"]
        subprocess.run(words, cwd=tmp_path, env=ENVIRONMENT, stdout=file, timeout=60)
    assert (tmp_path / "all.txt").read_text().startswith(f"closed\n{told}")


@pytest.mark.parametrize("way", ["", "import os\nif os.fork(): os.wait(); os._exit(0)\n"])
@pytest.mark.parametrize("form", ["text", "json", "html", "sarif", "junit", "github"])
def test_the_name_of_a_file_may_be_no_text(tmp_path: Path, form: str, way: str) -> None:
    name = os.fsdecode(b"app\xff.py")
    try:
        (tmp_path / name).write_text(way + USE)
    except OSError:
        pytest.skip("this file system has no such names")
    done = hosted(tmp_path, "run", "--law", "files", "--format", form, "-o", "report", name)
    assert (done.out, done.err, done.code) == ("closed\n", "", 1)
    assert "use-after-close" in (tmp_path / "report").read_text(encoding="utf-8")
