"""The oracle: over the wire each event has the verdict that the law itself gives."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from lawful import rml
from lawful.web.oracle import Oracle, OracleOptions, application

FIFO = """
put(x) matches {event: 'put', value: x};
got(x) matches {event: 'get', value: x};
got matches got(_);
Main = {let x; put(x) ((got | Main) /\\ (got >> (got(x) all)))}!;
"""

LOCK = """
acquire matches {event: 'acquire'};
release matches {event: 'release'};
Main = (acquire release)*;
"""


def _law(text: str = LOCK, name: str = "lock"):
    return rml.compile(text, name=name)


def _events(seed: int, length: int = 30) -> list[dict[str, object]]:
    rng = random.Random(seed)
    return [{"event": rng.choice(["put", "get"]), "value": rng.randrange(3), "n": n} for n in range(length)]


@pytest.mark.parametrize("seed", range(5))
def test_each_answer_is_the_event_with_the_verdict_of_the_law(serve, seed):
    law = _law(FIFO, "fifo")
    server = serve(application(Oracle([law])), any_method=True)
    monitor = law.monitor()
    with connect(server.address("ws")) as socket:
        for event in _events(seed):
            socket.send(json.dumps(event))
            answer = json.loads(socket.recv())
            assert answer.pop("verdict") == monitor.step(event).value
            broken, spec = answer.pop("laws", []), answer.pop("spec", None)
            assert answer == event
            assert (broken == ["fifo"]) == (monitor.verdict.value == "false") == (spec is not None)


def test_each_connection_begins_anew(serve):
    server = serve(application(Oracle([_law()])), any_method=True)
    with connect(server.address("ws")) as one, connect(server.address("ws")) as other:
        answers = []
        for socket in (one, other, one, one):
            socket.send('{"event": "acquire"}')
            answers.append(json.loads(socket.recv())["verdict"])
    assert answers == ["currently_false", "currently_false", "false", "false"]


def test_with_a_key_the_state_belongs_to_its_value(serve):
    server = serve(application(Oracle([_law()], OracleOptions(key="session"))), any_method=True)
    with connect(server.address("ws")) as one, connect(server.address("ws")) as other:
        answers = []
        for socket, session in ((one, "a"), (other, "a"), (one, "b"), (one, 1), (one, "1"), (one, None)):
            socket.send(json.dumps({"event": "acquire", "session": session}))
            answer = json.loads(socket.recv())
            answers.append(answer.get("verdict") or answer["error"]["slug"])
    assert answers == [
        "currently_false",
        "false",
        "currently_false",
        "currently_false",
        "currently_false",
        "oracle-key",
    ]


@pytest.mark.parametrize("text", ["", "{", "[]", "3", '"event"', "\x00", "[" * 100_000, '{"a": 1} x', "{'a': 1}"])
def test_what_is_no_event_is_answered_and_the_connection_kept(serve, text):
    server = serve(application(Oracle([_law()])), any_method=True)
    with connect(server.address("ws")) as socket:
        socket.send(text)
        assert json.loads(socket.recv())["error"]["slug"] == "oracle-message"
        socket.send(b'{"event": "acquire"}')
        assert json.loads(socket.recv()) == {"event": "acquire", "verdict": "currently_false"}


def test_a_message_may_not_be_too_large(serve):
    oracle = Oracle([_law()], OracleOptions(most_bytes=100))
    server = serve(application(oracle), any_method=True, most_bytes=1_000)
    with connect(server.address("ws")) as socket:
        socket.send(json.dumps({"event": "acquire", "text": "x" * 100}))
        assert json.loads(socket.recv())["error"]["slug"] == "oracle-message-size"
        socket.send("x" * 2_000)
        with pytest.raises(ConnectionClosed) as closed:
            socket.recv()
    assert closed.value.rcvd is not None and closed.value.rcvd.code == 1009
    assert httpx.post(server.address(), content="x" * 200).status_code == 413


def test_there_may_not_be_too_many_connections(serve):
    server = serve(application(Oracle([_law()], OracleOptions(most_connections=1))), any_method=True)
    with connect(server.address("ws")) as socket:
        with pytest.raises(InvalidStatus), connect(server.address("ws")):
            pass
        socket.send('{"event": "acquire"}')
        assert "verdict" in socket.recv()
    for _ in range(100):
        try:
            with connect(server.address("ws")):
                return
        except InvalidStatus:
            continue
    pytest.fail("the place of a connection that was closed is not given back")


def test_there_may_not_be_too_many_states(serve):
    oracle = Oracle([_law()], OracleOptions(key="k", most_states=2))
    answers = [json.loads(oracle.answer(json.dumps({"event": "acquire", "k": k}), None)) for k in (1, 2, 3, 1)]
    assert ["error" in answer for answer in answers] == [False, False, True, False]
    assert answers[2]["error"]["slug"] == "oracle-states"


def test_over_http_a_header_names_the_stream(serve):
    server = serve(application(Oracle([_law()])), any_method=True)

    def post(body: str, stream: str | None = None) -> list[str]:
        headers = {"Lawful-Stream": stream} if stream is not None else {}
        answer = httpx.post(server.address(), content=body, headers=headers)
        return [json.loads(line)["verdict"] for line in answer.text.splitlines()]

    assert post('{"event": "acquire"}') == ["currently_false"]
    assert post('{"event": "release"}\n{"event": "release"}') == ["currently_true", "false"]
    assert post('{"event": "acquire"}', "robot-2") == ["currently_false"]
    ended = httpx.delete(server.address(), headers={"Lawful-Stream": "robot-2"})
    assert ended.json() == {"verdict": "false"}  # it was not released
    assert httpx.delete(server.address(), headers={"Lawful-Stream": "robot-2"}).status_code == 404
    assert post('{"event": "acquire"}', "robot-2") == ["currently_false"]
    assert httpx.get(server.address()).json()["events"] == 5


def test_of_several_laws_the_worst_verdict_counts():
    oracle = Oracle([_law(), _law("thing matches {}; Main = thing*;", "all"), _law(FIFO, "fifo")])
    answer = json.loads(oracle.answer('{"event": "acquire"}', oracle.new_state()))
    assert answer["verdict"] == "false" and answer["laws"] == ["fifo"]
    assert "put" in answer["spec"]


def test_the_answer_can_be_that_of_the_tools_for_node():
    oracle = Oracle([_law()], OracleOptions(answer_format="error"))
    state = oracle.new_state()
    answers = [json.loads(oracle.answer(json.dumps({"event": kind}), state)) for kind in ("acquire", "acquire")]
    assert [answer["error"] for answer in answers] == [False, True]
    assert answers[0]["event"] == {"event": "acquire"}
    assert json.loads(oracle.answer("{", state))["error"] is True


def test_it_can_go_on_as_if_the_wrong_event_had_not_come():
    oracle = Oracle([_law()], OracleOptions(go_on=True))
    state = oracle.new_state()
    kinds = ("acquire", "acquire", "release", "release", "acquire")
    answers = [json.loads(oracle.answer(json.dumps({"event": kind}), state))["verdict"] for kind in kinds]
    assert answers == ["currently_false", "false", "currently_true", "false", "currently_false"]


@pytest.mark.parametrize(
    ("headers", "query"),
    [
        ({}, ""),
        ({}, "?token=wrong"),
        ({"Authorization": "Bearer wrong"}, ""),
        ({"Origin": "http://evil.example"}, "?token=a-token-for-tests"),
        ({"Host": "evil.example"}, "?token=a-token-for-tests"),
        ({"Host": "127.0.0.1:1"}, "?token=a-token-for-tests"),
    ],
)
def test_strangers_are_refused(serve, headers, query):
    server = serve(application(Oracle([_law()])), any_method=True)
    place = f"127.0.0.1:{server.port}/{query}"
    assert httpx.post(f"http://{place}", content='{"event": "acquire"}', headers=headers).status_code == 403
    host = headers.get("Host")
    if host is None:  # the library sends its own
        with pytest.raises(InvalidStatus), connect(f"ws://{place}", additional_headers=headers):
            pass


def test_the_token_may_come_as_a_header(serve):
    server = serve(application(Oracle([_law()])), any_method=True)
    with connect(
        server.address("ws", None), additional_headers={"Authorization": "Bearer a-token-for-tests"}
    ) as socket:
        socket.send('{"event": "acquire"}')
        assert json.loads(socket.recv())["verdict"] == "currently_false"


def test_the_command_answers_until_it_is_interrupted(tmp_path: Path):
    law = tmp_path / "lock.rml"
    law.write_text(LOCK)
    command = [sys.executable, "-m", "lawful", "oracle", str(law), "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ) as process:
        assert process.stderr is not None
        found = re.search(r"ws://\S+", process.stderr.readline())
        assert found is not None
        with connect(found[0]) as socket:
            socket.send('{"event": "release"}')
            assert json.loads(socket.recv())["verdict"] == "false"
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
        assert "Traceback" not in process.stderr.read()


@pytest.mark.parametrize(
    ("words", "slug"),
    [
        ([], "usage"),
        (["lock.rml", "--token", "short"], "web-token"),
        (["lock.rml", "--token", "long-enough", "--no-token"], "usage"),
        (["lock.rml", "--port", "1", "--host", "192.0.2.1"], "serve-port"),
        (["missing.rml"], "law-not-found"),
    ],
)
def test_bad_usage_is_told(tmp_path: Path, words, slug):
    (tmp_path / "lock.rml").write_text(LOCK)
    done = subprocess.run(
        [sys.executable, "-m", "lawful", "oracle", *words], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 2
    assert f"error[{slug}]" in done.stderr


def test_what_was_expected_is_told_as_long_as_the_law_is_broken():
    oracle = Oracle([_law()])
    state = oracle.new_state()
    answers = [
        json.loads(oracle.answer(json.dumps({"event": kind}), state)) for kind in ("acquire", "acquire", "x", "release")
    ]
    assert [answer.get("spec") for answer in answers] == [None, "release", "release", "release"]


def test_a_client_that_never_reads_is_no_trouble_for_others(tmp_path: Path):
    (tmp_path / "lock.rml").write_text(LOCK)
    command = [sys.executable, "-m", "lawful", "oracle", "lock.rml", "--port", "0", "--no-token"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        found = re.search(r"ws://\S+", process.stderr.readline())
        assert found is not None
        with connect(found[0]) as rude:
            for _ in range(2_000):
                rude.send('{"event": "x", "text": "%s"}' % ("y" * 1_000))
            rude.socket.close()
        with connect(found[0]) as polite:
            polite.send('{"event": "acquire"}')
            assert json.loads(polite.recv())["verdict"] == "currently_false"
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
        assert process.stderr.read() == "lawful: the oracle has ended\n"


def test_small_answers_are_not_held_back():
    import socket

    from lawful.web import serving

    with serving.listen("127.0.0.1", 0) as listening:
        assert listening.proto == socket.IPPROTO_TCP  # without which asyncio leaves Nagle's algorithm on
