"""The dashboard of a run that is over, from its report in JSON."""

from __future__ import annotations

import os
from typing import Any

import msgspec

from lawful.diagnostics import all_encodable
from lawful.engine.run_state import MOST_MOVES, thinned
from lawful.engine.wording import describe
from lawful.errors import LawfulError
from lawful.web.link import ServerSide

_MAX_RULES = 2_000


def load(path: str) -> ServerSide:
    """The run in a report, as the dashboard shows it. A wrong file is an error with a slug."""
    try:
        with open(path, "rb") as file:
            report = msgspec.json.decode(file.read())
    except OSError as error:
        raise LawfulError("serve-report", error.strerror or str(error), where=path) from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise _no_report(path, f"this is not JSON: {error}") from None
    if not isinstance(report, dict) or report.get("report") != "run":
        raise _no_report(path, "this is not the report of a run")
    side = ServerSide()
    try:
        message = {"state": _state(report, path), "findings": _findings(report), "answers": []}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _no_report(path, f"the report is incomplete: {type(error).__name__}: {error}") from None
    side.take(msgspec.json.encode(message))
    return side


def _no_report(path: str, message: str) -> LawfulError:
    return LawfulError(
        "serve-report", message, where=path, hint="lawful run --format json --output run.json … writes one"
    )


def _state(report: dict[str, Any], path: str) -> dict[str, Any]:
    seconds = report.get("seconds") or 0.0
    counts: dict[str, int] = {}
    for finding in report["findings"]:
        counts[finding["law"]] = counts.get(finding["law"], 0) + finding["count"]
    return {
        "program": os.path.basename(path),
        "process": None,
        "core": "",
        "seconds": seconds,
        "over": True,
        "events": report["events"],
        "rate": report["events"] / seconds if seconds else 0.0,
        "waiting": 0,
        "buffer": 0,
        "dropped": report["dropped"],
        "cost": 0.0,
        "threads": report["threads"],
        "violations": report["violations"],
        "errors": list(report["errors"]),
        "warnings": list(report["warnings"]),
        "laws": [
            {
                "name": law,
                "state": "over",
                "verdict": "false" if law in counts else "true",
                "violations": counts.get(law, 0),
            }
            for law in dict.fromkeys(report["laws"])
        ],
        "learning": _learning(report["learned"]) if "learned" in report else None,
        "sampling": _sampling(report["confidence"]) if report.get("confidence") else None,
        "recording": {"on": False, "file": None},
    }


def _learning(learned: dict[str, Any]) -> dict[str, Any]:
    rules = [*learned["rules"], *learned.get("history_rules", ())][:_MAX_RULES]
    return {
        "parameters": dict(learned["parameters"]),
        "events": learned["events"],
        "counts": {state: sum(rule["state"] == state for rule in rules) for state in ("enforcing", "learning")},
        "rules": [
            {**rule, "number": number, "text": rule.get("text") or f"{rule['a']} {rule['b']} ({rule['pattern']})"}
            for number, rule in enumerate(rules)
        ],
        "moves": list(learned.get("moves", ()))[-MOST_MOVES:],
        "known": len(learned.get("reported_before", ())),
    }


def _sampling(classes: list[dict[str, Any]]) -> dict[str, Any]:
    laws = [law for each in classes for law in each["laws"]]
    return {
        "confidence": round(1 - laws[0]["delta"], 12) if laws else None,
        "error_rate": laws[0]["error_rate"] if laws else None,
        "policy": "",
        "needed": laws[0]["needed"] if laws else None,
        "classes": [
            {
                **each,
                "name": each["class"],
                "laws": [{**law, "state": law["claim"]} for law in each["laws"]],
                "moves": each["moves"][-MOST_MOVES:],
                "series": thinned(each["series"]),
            }
            for each in classes
        ],
    }


def _findings(report: dict[str, Any]) -> list[dict[str, Any]]:
    message: list[dict[str, Any]] = all_encodable(
        [
            {
                "number": number,
                "law": finding["law"],
                "message": finding["message"],
                "file": finding["file"],
                "line": finding["line"],
                "count": finding["count"],
                "time": finding["first_time"],
                "last": finding["last_time"],
                "muted": False,
                "withdrawn": False,
                "anomaly": "anomaly" in finding,
                "history": [
                    {
                        "number": each["number"],
                        "text": describe(each["event"]),
                        "file": each["event"].get("file"),
                        "line": each["event"].get("line"),
                    }
                    for each in finding["history"]
                ],
            }
            for number, finding in enumerate(report["findings"], 1)
        ]
    )
    return message
