"""The messages of a program under watch, as a trace has them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from sources.actors.watched_programs import Event, watched

_MESSAGES = ("send", "receive")


@pytest.fixture
def seen(tmp_path: Path) -> Callable[..., list[Event]]:
    """`seen(view, program, groups)`"""

    def run(
        view: str, program: Callable[[], Any], groups: Mapping[str, str] | None = None, **options: Any
    ) -> list[Event]:
        trace = tmp_path / "trace.jsonl"
        watched(view, program, groups, trace=trace, **options)
        events = [json.loads(line) for line in trace.read_text().splitlines()]
        return [event for event in events if event["event"] in _MESSAGES]

    return run
