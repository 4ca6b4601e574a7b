"""The dashboard of real runs: what it shows, what it changes, whom it refuses, and that the program does not notice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from web.programs import PROGRAM, Shown


@pytest.fixture
def show(tmp_path):
    running: list[Shown] = []

    def begin(*options: str, **more) -> Shown:
        running.append(Shown(tmp_path, *options, **more))
        return running[-1]

    yield begin
    for each in running:
        each.close()


def test_findings_and_numbers_arrive_while_the_program_runs(show):
    shown = show("--law", "files")
    view = shown.until(lambda view: view["findings"])
    finding = view["findings"][0]
    assert finding["law"] == "files/use-after-close"
    assert finding["file"] == "program.py"
    assert any("close" in each["text"] for each in finding["history"])
    assert view["state"]["events"] > 0
    assert {"files/left-open", "files/use-after-close"} <= {law["name"] for law in view["state"]["laws"]}
    code, out, err = shown.interrupt()
    assert "files/use-after-close" in err  # the report is as without it
    assert code != 0 and out == "" and "KeyboardInterrupt" in err


def test_parameters_of_learning_change_at_once(show):
    shown = show("--learn", "--public", "program")
    shown.until(lambda view: view["state"]["learning"] and view["state"]["learning"]["rules"])
    assert shown.do(do="learning", change={"window": 50, "budget": 3}).status_code == 200
    view = shown.until(lambda view: view["state"]["learning"]["parameters"]["window"] == 50)
    assert view["state"]["learning"]["parameters"]["budget"] == 3
    wrong = shown.do(do="learning", change={"window": -1})
    assert wrong.status_code == 400 and wrong.json()["error"]["slug"] == "window-range"
    assert shown.do(do="learning", change={"core": "python"}).json()["error"]["slug"] == "control-value"
    anomaly = shown.until(lambda view: view["findings"])["findings"][0]
    assert anomaly["anomaly"] and anomaly["law"] == "learned" and "Account" in anomaly["message"]
    assert any("Account.open" in each["text"] for each in anomaly["history"])
    rule = shown.until(lambda view: view["state"]["learning"]["rules"])["state"]["learning"]["rules"][0]
    made = shown.do(do="promote", rule=rule["number"]).json()["result"]["rml"]
    from lawful import rml

    assert rml.compile(made).name  # it is a law


def test_laws_are_added_paused_and_removed(show):
    shown = show("--law", "locks")
    assert shown.state()["findings"] == []
    assert shown.do(do="add-law", name="files/use-after-close").json()["result"]["laws"] == ["files/use-after-close"]
    shown.until(lambda view: view["findings"])
    assert shown.do(do="add-law", name="files/use-after-close").json()["error"]["slug"] == "control-law"
    assert shown.do(do="add-law", name="no-such").json()["error"]["slug"] == "law-not-found"
    text = "again matches {event: 'func_pre', name: 'program.Account.use'}; Main = again >> empty;"
    assert shown.do(do="add-law", name="mine.rml", text=text).status_code == 200
    shown.until(lambda view: any(each["law"] == "mine.rml" for each in view["findings"]))
    bad = shown.do(do="add-law", name="bad.rml", text="Main = nothing_known;").json()["error"]
    assert bad["slug"].startswith("rml-") and "bad.rml:1" in bad["text"]
    assert shown.do(do="add-law", name="other.view", text="x").json()["error"]["slug"] == "law-unknown-kind"
    assert shown.do(do="pause-law", name="mine.rml").status_code == 200
    view = shown.until(lambda view: any(law["state"] == "paused" for law in view["state"]["laws"]))
    count = next(each["count"] for each in view["findings"] if each["law"] == "mine.rml")
    shown.until(lambda now: now["state"]["events"] > view["state"]["events"] + 50)
    assert next(each["count"] for each in shown.state()["findings"] if each["law"] == "mine.rml") == count
    assert shown.do(do="remove-law", name="mine.rml").status_code == 200
    shown.until(lambda view: all(law["name"] != "mine.rml" for law in view["state"]["laws"]))
    assert shown.do(do="remove-law", name="mine.rml").json()["error"]["slug"] == "control-law"
    assert shown.process.poll() is None


def test_a_rule_is_the_one_that_was_seen(show):
    """The order of rules changes while they are learned: a number may be that of another one when it is asked for."""
    shown = show("--learn", "--public", "program")
    rules = shown.until(lambda view: len((view["state"]["learning"] or {}).get("rules", ())) > 1)
    first, second = rules["state"]["learning"]["rules"][:2]
    assert first["text"] != second["text"]
    asked = shown.do(do="promote", rule=second["number"], text=first["text"]).json()["result"]["rml"]
    assert f"\n// {first['text']}\n" in asked and f"\n// {second['text']}\n" not in asked
    gone = shown.do(do="promote", rule=first["number"], text="none like it")
    assert gone.json()["error"]["slug"] == "control-rule"


def test_the_programs_files_have_the_numbers_that_they_have_without_it(show, tmp_path: Path):
    text = "import os\nprint(os.open(__file__, os.O_RDONLY), os.open(__file__, os.O_RDONLY))\n"
    assert show("--law", "files", text=text).ended()[:2] == (0, "3 4\n")


def test_there_may_not_be_too_many_who_look():
    import asyncio

    from lawful.web.dashboard import MAX_VIEWERS, DashboardHub
    from lawful.web.link import ServerSide

    async def all_at_once() -> list[int]:
        hub = DashboardHub(ServerSide(view.append))
        streams = [hub.stream() for _ in range(MAX_VIEWERS + 5)]
        first = [await anext(stream, None) for stream in streams]
        looking = hub.viewers
        for stream in streams:
            await stream.aclose()  # type: ignore[attr-defined]
        return [looking, sum(each is None for each in first), hub.viewers]

    view: list[bytes] = []
    assert asyncio.run(all_at_once()) == [MAX_VIEWERS, 5, 0]
    assert [json.loads(line) for line in view] == [{"do": "look", "on": True}, {"do": "look", "on": False}]


def test_findings_are_muted_and_recording_is_switched(show, tmp_path: Path):
    shown = show("--law", "files")
    number = shown.until(lambda view: view["findings"])["findings"][0]["number"]
    assert shown.do(do="mute", finding=number).status_code == 200
    shown.until(lambda view: view["findings"][0]["muted"])
    assert shown.do(do="mute", finding=99).json()["error"]["slug"] == "control-finding"
    for on in (True, False, True, False):
        assert shown.do(do="record", on=on).status_code == 200
        if on:
            before = shown.state()["state"]["events"]
            shown.until(lambda view, before=before: view["state"]["events"] > before + 20)
    for name in ("lawful-run.jsonl", "lawful-run.2.jsonl"):
        events = [json.loads(line) for line in (tmp_path / name).read_text().splitlines()]
        assert events and all("event" in event for event in events)
    shown.interrupt()


def test_a_run_that_only_learns_can_be_recorded(show, tmp_path: Path):
    shown = show("--public", "program")
    shown.until(lambda view: view["state"]["events"] > 10)
    assert shown.do(do="record", on=True).json()["result"] == {"on": True, "file": "lawful-run.jsonl"}
    before = shown.state()["state"]["events"]
    shown.until(lambda view: view["state"]["events"] > before + 50)
    shown.interrupt()
    events = [json.loads(line) for line in (tmp_path / "lawful-run.jsonl").read_text().splitlines()]
    assert {"program.Account.open"} <= {event["name"].replace("__main__", "program") for event in events}


def test_sampling_is_steered(show, tmp_path: Path):
    (tmp_path / "law.toml").write_text('[[invariant]]\nname = "fine"\nclass = "program.Thing"\nalways = "o.x >= 0"\n')
    text = "import time, sys\nclass Thing:\n    def __init__(self): self.x = 0\n    def up(self): self.x += 1\n"
    text += "end = time.monotonic() + float(sys.argv[1])\nwhile time.monotonic() < end:\n"
    text += "    t = Thing(); t.up(); del t; time.sleep(0.001)\n"
    shown = show("--law", "law.toml", "--confidence", "0.9", "--error-rate", "1e-5", text=text)
    view = shown.until(lambda view: view["state"]["sampling"]["classes"][0]["sampled"] > 10)
    assert view["state"]["sampling"]["needed"] == 230258
    done = shown.do(do="sampling", change={"error_rate": 0.1})
    assert done.json()["result"] == {"needed": 22}
    view = shown.until(lambda view: view["state"]["sampling"]["classes"][0]["laws"][0]["state"] == "reached")
    shown.until(lambda view: view["state"]["sampling"]["classes"][0]["rate"] == 0)
    assert shown.do(do="sampling", change={"error_rate": 1e-6, "policy": "taper"}).status_code == 200
    shown.until(lambda view: view["state"]["sampling"]["classes"][0]["rate"] > 0)
    for change in ({"error_rate": 2}, {"policy": "../x.policy"}, {"seed": 3}, {"confidence": "high"}, {}):
        assert shown.do(do="sampling", change=change).status_code == 400
    assert shown.do(do="add-law", name="files").json()["error"]["slug"] == "control-sampling"


@pytest.mark.parametrize(
    ("method", "path", "headers"),
    [
        ("GET", "/", {}),
        ("GET", "/state", {"x-lawful-token": "wrong"}),
        ("GET", "/news?token=wrong", {}),
        ("POST", "/do", {}),
        ("POST", "/do?token={token}", {}),  # what changes something needs the header
        ("POST", "/do", {"x-lawful-token": "{token}", "origin": "http://evil.example"}),
        ("GET", "/state?token={token}", {"host": "evil.example"}),
        ("GET", "/state?token={token}", {"origin": "null"}),
    ],
)
def test_strangers_are_refused(others, method, path, headers):
    shown = others
    given = {name: value.format(token=shown.token) for name, value in headers.items()}
    answer = httpx.request(method, shown.base + path.format(token=shown.token), headers=given, json={"do": "x"})
    assert answer.status_code == 403


@pytest.fixture(scope="module")
def others(tmp_path_factory):
    shown = Shown(tmp_path_factory.mktemp("others"), "--law", "files")
    yield shown
    shown.close()


def test_the_page_has_a_strict_policy_and_nothing_inline(others):
    page = httpx.get(others.address)
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy and "script-src 'self'" in policy and "unsafe" not in policy
    assert page.headers["x-content-type-options"] == "nosniff"
    assert "<style" not in page.text and " style=" not in page.text and " onclick" not in page.text
    assert [tag[:14] for tag in page.text.split("<script")[1:]] == [' src="/static/']
    assert others.token not in page.text


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{", b'{"do": 3}', b'{"do": "shutdown"}', b'{"do": "add-law"}', b"[" * 10_000]
)
def test_nonsense_is_answered(others, body):
    headers = {"x-lawful-token": others.token, "content-type": "application/json"}
    answer = httpx.post(others.base + "/do", content=body, headers=headers)
    assert answer.status_code == 400
    assert "error" in answer.json()
    del headers["content-type"]
    assert httpx.post(others.base + "/do", content=body, headers=headers).status_code == 415


def test_the_server_ends_with_the_program_and_the_program_is_as_without_it(show, tmp_path: Path):
    # It waits for all its children: there must be none.
    text = (
        "import os, sys, time\ntime.sleep(0.5)\ntry:\n    os.wait()\nexcept ChildProcessError:\n    print('no child')\n"
    )
    text += "print(sorted(os.listdir('/proc/self/fd')) != [], sys.argv[1:])\nsys.exit(7)\n"
    shown = show("--law", "files", text=text)
    code, out, _ = shown.ended()
    assert code == 7 and out == "no child\nTrue ['30.0']\n"
    end = time.monotonic() + 20
    while time.monotonic() < end:
        try:
            httpx.get(shown.base, timeout=5)
        except httpx.TransportError:
            return
        time.sleep(0.1)
    pytest.fail("the server is still there")


def _server(shown: Shown) -> int:
    port = shown.base.rpartition(":")[2]
    listening = {line.split()[9] for line in Path("/proc/net/tcp").read_text().splitlines()[1:]
                 if int(line.split()[1].partition(":")[2], 16) == int(port) and line.split()[3] == "0A"}  # fmt: skip
    for process in Path("/proc").glob("[0-9]*"):
        try:
            links = {os.readlink(each) for each in (process / "fd").iterdir()}
        except OSError:
            continue
        if links & {f"socket:[{inode}]" for inode in listening}:
            return int(process.name)
    raise AssertionError("nobody listens")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_server_that_dies_or_hangs_leaves_the_program_alone(show, number):
    shown = show("--law", "files", seconds=3)
    shown.until(lambda view: view["state"]["events"] > 10)
    server = _server(shown)
    os.kill(server, number)
    try:
        code, out, err = shown.ended()
    finally:
        if number == signal.SIGSTOP:
            os.kill(server, signal.SIGKILL)
    assert out == "done\n"
    assert "files/use-after-close" in err
    assert code == 1


def test_a_fork_does_not_hold_the_dashboard(show, tmp_path: Path):
    text = "import os, sys, time, io\npid = os.fork()\nf = io.StringIO(); f.close()\n"
    text += "try:\n    f.read()\nexcept ValueError: pass\n"
    text += "time.sleep(1)\nif pid == 0:\n    os._exit(0)\nos.waitpid(pid, 0)\nprint('done')\n"
    shown = show("--law", "files", text=text)
    shown.until(lambda view: view["findings"])
    code, out, err = shown.ended()
    assert (code, out) == (1, "done\n")
    assert "2 processes" in err


def test_a_finished_run_is_served(tmp_path: Path):
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "lawful"]
    words = "run --law files --learn --public program --format json --output run.json program.py 0.3".split()
    subprocess.run([*command, *words], cwd=tmp_path, timeout=60, stdout=subprocess.DEVNULL)
    with subprocess.Popen([*command, "serve", "run.json"], cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        address = process.stderr.readline().split()[-1]
        base, _, token = address.partition("?token=")
        view = httpx.get(f"{base}state", params={"token": token}).json()
        assert view["over"] is True
        assert any(finding["law"] == "files/use-after-close" for finding in view["findings"])
        assert view["state"]["learning"]["rules"]
        refused = httpx.post(f"{base}do", json={"do": "mute", "finding": 1}, headers={"x-lawful-token": token})
        assert refused.json()["error"]["slug"] == "control-over"
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0


def test_what_a_finished_run_is_sure_of_is_served(tmp_path: Path):
    from lawful.web.finished_run import load

    (tmp_path / "program.py").write_text(PROGRAM)
    words = "run --law files/use-after-close --confidence 0.9 --error-rate 0.1 -o run.json program.py 0.3".split()
    subprocess.run([sys.executable, "-m", "lawful", *words], cwd=tmp_path, timeout=60, stdout=subprocess.DEVNULL)
    report = json.loads((tmp_path / "run.json").read_text())["confidence"][0]
    sampling = load(str(tmp_path / "run.json")).state["sampling"]
    assert (sampling["confidence"], sampling["error_rate"]) == (0.9, 0.1)
    (shown,) = sampling["classes"]
    assert shown["name"] == "files/use-after-close" and shown["created"] == report["created"] > 0
    assert shown["laws"][0]["state"] == report["laws"][0]["claim"]
    assert shown["laws"][0]["violations"] == report["laws"][0]["violations"] > 0
    assert shown["series"][0]["time"] == report["series"][0]["time"]


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"report": "run"}', b"\xff", None])
def test_a_file_that_is_not_a_report_is_an_error(tmp_path: Path, content):
    if content is not None:
        (tmp_path / "run.json").write_bytes(content)
    command = [sys.executable, "-m", "lawful", "serve", "run.json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "error[serve-report]" in done.stderr


def test_a_bad_port_is_an_error(tmp_path: Path):
    (tmp_path / "program.py").write_text("print('ran')")
    for option in ("--serve=x", "--serve=99999"):
        command = [sys.executable, "-m", "lawful", "run", option, "--law", "files", "program.py"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
        assert done.returncode == 2 and "error[usage]" in done.stderr and done.stdout == ""


def test_the_program_may_have_an_option_of_that_name(show, tmp_path: Path):
    (tmp_path / "program.py").write_text("import sys; print(sys.argv[1:])")
    command = [sys.executable, "-m", "lawful", "run", "--law", "files", "program.py", "--serve", "x"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.stdout == "['--serve', 'x']\n"


@pytest.mark.parametrize("then", ["", "pairs = [socket.socketpair() for _ in range(8)]"])
def test_a_program_may_close_what_it_has_not_opened(show, then):
    text = f"import os, socket, time\nos.closerange(3, 4096)\n{then}\ntime.sleep(1)\nprint('end')\n"
    shown = show("--law", "files", text=text)
    code, out, err = shown.ended()
    assert (code, out) == (0, "end\n")
    assert "Bad file descriptor" not in err and "Traceback" not in err
