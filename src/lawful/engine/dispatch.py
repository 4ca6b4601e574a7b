"""Events are given to the laws that they concern. The C core has a twin of this."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from lawful.engine.findings import Event
from lawful.engine.law_judge import LiveLaw
from lawful.engine.routing import Routes

if TYPE_CHECKING:
    from lawful.engine.sample_tracking import Lives

Heard = dict[int | str, tuple[LiveLaw, ...]]
"""By id, the laws that have heard of an object, until it is gone: the others need not hear of its end."""


def deal(
    batch: list[Event],
    first: int,
    routes: Routes[LiveLaw],
    kept: list[tuple[int, Event]],
    lives: Lives | None,
    heard: Heard | None,
) -> int:
    """Give events, numbered from the first on, to laws. What laws have to do with is kept. The highest thread."""
    for entry in enumerate(batch, first):
        number, event = entry
        try:
            concerned = routes[event["event"], event.get("name")]
        except (KeyError, TypeError):  # it has no kind, or its name is no word
            concerned = routes.find(event.get("event"), event.get("name"))
        if lives is not None:
            concerned = lives.admit(event, concerned)
        known = False
        if heard is None:
            pass
        elif event.get("event") == "gone" and event.get("targetId").__class__ in (int, str):
            known, concerned = _mourners(heard.pop(event["targetId"], None), concerned)
        else:
            hearing = tuple(each for each in concerned if each.hears)
            if hearing:
                _introduce(event, hearing, heard)
        if concerned or known:
            kept.append(entry)
            for each in concerned:
                each.events.append(event)
                each.numbers.append(number)
    return max((thread for event in batch if (thread := event.get("thread")).__class__ is int), default=0)


def _introduce(event: Event, laws: tuple[LiveLaw, ...], heard: Heard) -> None:
    """These laws have heard of all objects that an event mentions."""
    for each in _ids_in(event):
        before = heard.get(each, ())
        news = tuple(law for law in laws if law not in before)
        if news:
            heard[each] = before + news


def _mourners(heard: tuple[LiveLaw, ...] | None, concerned: tuple[LiveLaw, ...]) -> tuple[bool, tuple[LiveLaw, ...]]:
    """Has a law heard of an object that is gone; and the laws that are to be told.

    A law to which something else of the batch has come may not be aloof any more when that is judged.
    """
    told = tuple(each for each in concerned if not each.aloof or each.events or each in (heard or ()))
    return heard is not None, told


def _ids_in(event: Event) -> Iterator[int | str]:
    """The ids of all objects that a law may hear of by an event."""
    args, named = event.get("argIds"), event.get("kwargIds")
    for each in (
        *(event.get(key) for key in ("targetId", "resultId", "excId", "task")),
        *(args if isinstance(args, list | tuple) else ()),
        *(named.values() if isinstance(named, dict) else ()),
    ):
        if each.__class__ in (int, str):
            yield each
