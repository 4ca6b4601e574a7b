"""A view with its grammar as a law, as the rest of Lawful sees it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from lawful import core
from lawful.laws.grammar.compiled_grammar import CompiledGrammar
from lawful.laws.grammar.functions import files, load
from lawful.laws.grammar.machine import Dispatch, group_key
from lawful.laws.grammar.monitor import GrammarMonitor
from lawful.laws.grammar.native import tables
from lawful.laws.grammar.steps import Steps
from lawful.laws.grammar.wording import Words
from lawful.laws.law_base import LawBase
from lawful.laws.protocol import Event, Language, Watch

if TYPE_CHECKING:
    from lawful.diagnostics import Diagnostic, Source
    from lawful.laws.grammar.groups import Binding
    from lawful.laws.grammar.resolved_grammar import Grammar
    from lawful.laws.grammar.syntax import View


class GrammarLaw(LawBase):
    """A compiled view with its grammar. It and its monitors can be pickled."""

    language: Language = "view"
    tracks_objects = False

    def __init__(
        self,
        view_source: Source,
        grammar_source: Source,
        view: View,
        compiled: CompiledGrammar,
        warnings: tuple[Diagnostic, ...],
        groups: Mapping[str, tuple[Binding, ...]],
        classes: Mapping[str, str],
    ) -> None:
        self.source = view_source.text
        self.name = view_source.name
        self.view = view
        self.compiled = compiled
        self.warnings = warnings
        self.groups = groups
        """What groups are in a running program."""
        self.classes = classes
        """Where classes of the view are, by qualified names."""
        self._grammar_source = grammar_source

    def __reduce__(self) -> tuple[Any, ...]:
        other = self._grammar_source
        if self.view.file is None:
            return _recompiled, (self.source, self.name, None, None, files())
        return _recompiled, (self.source, self.name, other.text, other.name, files())

    @property
    def grammar(self) -> Grammar:
        return self.compiled.grammar

    @property
    def regular(self) -> bool:
        """Is it an automaton, which takes constant memory? Otherwise memory grows with how deep messages nest."""
        return self.compiled.regular

    @property
    def group(self) -> str | None:
        """The name of the groups that it speaks of; None: any."""
        return None if self.view.group is None else self.view.group.text

    @cached_property
    def steps(self) -> Steps:
        return Steps(self.compiled)

    @cached_property
    def dispatch(self) -> Dispatch:
        return Dispatch(self.compiled, self.group)

    @cached_property
    def tables(self) -> Any:
        """The compiled grammar for the C core; None without it."""
        if core.native is None:
            return None
        return tables(core.native, self.steps, self.dispatch)

    @cached_property
    def words(self) -> Words:
        return Words(self.steps, self._grammar_source)

    @cached_property
    def watches(self) -> tuple[Watch, ...]:
        group = () if self.group is None else (("group", (self.group,)),)
        return tuple(
            Watch((("event", (message.direction,)), ("name", (message.method.text,)), *group))
            for message in self.view.messages
        )

    @property
    def selective(self) -> bool:
        return True

    @cached_property
    def subjects(self) -> GroupSubjects:
        return GroupSubjects(self)

    @property
    def every(self) -> None:
        """Only events carry the time."""
        return None

    @property
    def parts(self) -> tuple[GrammarLaw, ...]:
        return (self,)

    def monitor(self) -> GrammarMonitor:
        return GrammarMonitor(self)


class GroupSubjects:
    """The groups that a view is about, each for itself: a life is one group, from its first message on.

    It ends when the object is gone, or the task, that stands for the group. Messages that do not name their group
    belong to no life.
    """

    classes: tuple[str, ...] = ()
    """Messages name their groups; Python classes play no part."""

    binding: str | None = "groupId"
    """By this name an expectation says of which group it is; its other bindings are data."""

    by_target = False

    def __init__(self, law: GrammarLaw) -> None:
        self.label = "" if law.group is None else f"group {law.group}"
        self._find = law.dispatch.find

    def of(self, event: Event) -> int | str | None:
        if event.get("event") == "gone":
            key = event.get("targetId")
        else:
            key = None if self._find(event) is None else group_key(event)
        return key if key.__class__ in (int, str) else None


def _recompiled(
    source: str, name: str, grammar: str | None, grammar_name: str | None, functions: tuple[str, ...]
) -> GrammarLaw:
    # The only cycle in this package: `loading` makes laws, and a pickled law is made again from its text.
    from lawful.laws.grammar.loading import compile

    for path in functions:
        load(path)
    return compile(source, name=name, grammar=grammar, grammar_name=grammar_name)
