"""What a teacher reports of its answers, as a reader is told: limits, warnings, and whether something was left out."""

from __future__ import annotations

from lawful.explain.teacher import Report

UNSEEN = "never seen: "


def left_out(report: Report) -> bool:
    """Whether there were executions whose words are not known: cut off, too long, or after a limit was reached."""
    return bool(report.reached) or report.left_out


def limits_of(report: Report) -> tuple[str, ...]:
    """The limits that were reached, that on the time of one execution among them."""
    if not report.slow:
        return tuple(report.reached)
    many = "executions were" if report.slow > 1 else "execution was"
    return (*report.reached, f"{report.slow:,} {many} cut off after the time that each has (--execution-seconds)")


def warnings_of(report: Report) -> tuple[str, ...]:
    """What a reader must know. Of what only executions that were left out may have, it is not said to never happen."""
    if not left_out(report):
        return tuple(report.warnings)
    instead = "not in the executions that were followed to their end: "
    return tuple(instead + text.removeprefix(UNSEEN) if text.startswith(UNSEEN) else text for text in report.warnings)
