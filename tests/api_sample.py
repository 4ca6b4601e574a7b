"""A program that uses the public names as a user would; `make lint` checks its types, and a test runs it."""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import suppress

import lawful


def read_twice() -> None:
    file = io.StringIO("text")
    file.close()
    with suppress(ValueError):
        file.read()


def watched_block() -> list[str | None]:
    found: list[lawful.Finding] = []
    with lawful.watch(["std"], on_finding=found.append, project=__file__) as run:
        read_twice()
    watch: lawful.Watch = run
    expectation: lawful.Expectation | None = found[0].expectation
    assert expectation is not None and watch.events > 0
    return [finding.file for finding in watch.findings]


def watched_function() -> Callable[[int], int]:
    @lawful.watch(["std"], scope=lawful.Scope(calls=["json"]), learn=lawful.Learning(window=50))
    def double(number: int) -> int:
        return 2 * number

    return double


def sampled() -> list[str]:
    policy: lawful.Policy | None = None
    law: lawful.Law = lawful.invariants.invariant("api_sample.Account", always="o.balance >= 0")
    with lawful.watch([law], sampling=lawful.Sampling(confidence=0.9, error_rate=0.1, policy=policy)) as run:
        pass
    return [summary.class_name for summary in run.confidence]


def checked(law: lawful.Law, path: str) -> lawful.Outcome:
    with lawful.open_trace(path) as trace:
        return law.check(event for batch in trace.batches() for event in batch)


def stepped(monitor: lawful.Monitor) -> lawful.Verdict:
    return monitor.step({"event": "func_pre", "name": "open"})
