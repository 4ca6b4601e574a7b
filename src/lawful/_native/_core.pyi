from collections.abc import Callable, Container, Iterable, Sequence
from types import CodeType
from typing import Any

from lawful.laws.invariants.expressions import Key
from lawful.laws.invariants.rules import NativeRule
from lawful.laws.rml.planner import Planner
from lawful.learning.window_protocol import Counts, History, Instruction, Pair, Product, Survey
from lawful.sources.python.stack_walk import Site

empty_callback: Callable[..., None]

def abi() -> int: ...
def dispatch(
    batch: list[dict[str, Any]],
    first: int,
    routes: Any,
    kept: list[tuple[int, dict[str, Any]]],
    admit: Callable[..., tuple[Any, ...]] | None,
    ways: Callable[..., tuple[dict[Any, Any], ...] | None] | None,
    seen: dict[int | str, tuple[Any, ...]] | None,
) -> int: ...
def keep_recent(
    entries: list[tuple[int, dict[str, Any]]],
    start: int,
    objects: dict[Any, Any],
    plain: frozenset[str],
    most: int,
    keeps_gone: bool,
    room: int,
) -> int: ...
def walk_code(
    code: CodeType,
    bytecode: bytes,
    wanted: bytes,
    tables: tuple[bytes, bytes, bytes, bytes, bytes, tuple[str, ...], Callable[..., tuple[int, int]], int, int],
    /,
) -> tuple[list[Site], bytes]: ...
def automaton_minimal(
    initial: int, transitions: tuple[tuple[int, ...], ...], accepting: frozenset[int], /
) -> tuple[tuple[tuple[int, ...], ...], frozenset[int]]: ...
def automaton_product(
    left_initial: int,
    left_transitions: tuple[tuple[int, ...], ...],
    left_accepting: frozenset[int],
    right_initial: int,
    right_transitions: tuple[tuple[int, ...], ...],
    right_accepting: frozenset[int],
    taken: int,
    /,
) -> tuple[tuple[tuple[int, ...], ...], frozenset[int]]: ...
def automaton_search(
    left_initial: int,
    left_transitions: tuple[tuple[int, ...], ...],
    left_accepting: frozenset[int],
    right_initial: int,
    right_transitions: tuple[tuple[int, ...], ...],
    right_accepting: frozenset[int],
    taken: int,
    longest: int,
    /,
) -> tuple[int, ...] | None: ...

class LawQueue:
    events: list[dict[str, Any]]
    numbers: list[int]
    tracks_objects: bool
    takes_lazy_events: bool
    ignores_unseen_end: bool
    def __init__(self, tracks_objects: bool, takes_lazy_events: bool) -> None: ...
    def take(self) -> tuple[list[dict[str, Any]], list[int]]: ...

class DecisionTrees: ...

class ChangeWatch:
    def __init__(self, checks: Iterable[Any], missing: object, /) -> None: ...
    def changed(self) -> list[Any]: ...

class RmlMachine:
    failed: bool
    @property
    def at(self) -> int: ...
    def __init__(self, planner: Planner, warn: Callable[[str], None]) -> None: ...
    @property
    def halts(self) -> bool: ...
    @property
    def dead(self) -> bool: ...
    @property
    def is_all(self) -> bool: ...
    def feed(self, events: Sequence[Any], start: int, stop_when_dead: bool) -> int: ...
    def ignores(self, event: dict[str, Any]) -> bool: ...
    def dump(self) -> Any: ...
    def load(self, state: Any) -> None: ...

class InvariantTracker:
    """The running state of one invariant. Its host is what it tells and asks: a `NativeTracker`."""

    judgements: int
    timeless: int
    reports_ends: bool
    plain: bool
    seen: set[Key]
    now: float | None
    @property
    def ended(self) -> list[int | str]: ...
    def __init__(self, program: NativeRule | None, object_kind: type) -> None: ...
    def owes(self, id: int | str) -> bool: ...
    def __contains__(self, id: int | str) -> bool: ...
    def feed(self, host: object, events: list[dict[str, Any]], numbers: Sequence[int]) -> int: ...
    def prevented(self, number: int) -> None: ...
    def forget(self, id: int | str) -> None: ...
    def take_ended(self) -> list[int | str]: ...
    def dump(self) -> tuple[dict[int | str, Any], dict[int | str, Any]]: ...
    def load(
        self, objects: dict[int | str, Any], obligations: dict[int | str, Any], asked_python: Container[object]
    ) -> None: ...

class Window:
    size: int
    tick_every: int
    wake: Callable[[], None] | None
    @property
    def events(self) -> int: ...
    @property
    def pairs(self) -> int: ...
    @property
    def pruned(self) -> int: ...
    @property
    def given_up(self) -> int: ...
    @property
    def given_up_histories(self) -> int: ...
    @property
    def thread(self) -> int: ...
    @property
    def pushed(self) -> int: ...
    @property
    def worked(self) -> int: ...
    def __init__(self, product: Product, size: int, most_pairs: int = 0) -> None: ...
    def feed(self, names: object, sites: object, objects: object) -> None: ...
    def drain(self) -> None: ...
    def survey(self, program: Sequence[Instruction], prune: bool) -> Survey: ...
    def known(self) -> list[tuple[int, int]]: ...
    def pair(self, first: int, second: int) -> Pair | None: ...
    def counts(self, first: int, second: int) -> Counts | None: ...
    def histories(self) -> list[History]: ...
    def remember(
        self, first: int, second: int, endings: Sequence[tuple[int, int]], contexts: Sequence[tuple[int, int]]
    ) -> None: ...
    def start(self) -> None: ...
    def push(self, name: int, site: int, object: int) -> None: ...
    def wait(self, seconds: float, idle: bool = True) -> int: ...
    def resume(self) -> None: ...
    def stop(self) -> None: ...

class QueueReader:
    task: Callable[[], Any] | None
    party: Any
    shared: bool
    standard: bool
    next: int
    @property
    def early_senders(self) -> dict[int, Any]: ...
    @property
    def specs_by_name(self) -> dict[str, tuple[Any, ...]]: ...
    @property
    def reported(self) -> set[int]: ...
    @property
    def routes(self) -> dict[str, dict[Any, Route]]: ...
    @property
    def shared_routes(self) -> dict[str, dict[Any, Route]]: ...

class Route:
    def __init__(
        self,
        headers: tuple[dict[str, Any], ...],
        target: object,
        parameters: tuple[str, ...],
        steps: tuple[tuple[int, GrammarMachine, int], ...] | None = None,
        version: int = 0,
    ) -> None: ...

class DeferredEvent:
    def to_dict(self) -> dict[str, Any]: ...

def json_lines(events: list[Any], ask: Callable[[list[dict[str, Any]]], bytes]) -> bytes: ...

class LazyEvent:
    def to_dict(self) -> dict[str, Any]: ...

class InlineCheck:
    enabled: bool
    version: int
    seconds: float
    max_per_group: int
    max_overall: int
    @property
    def count(self) -> int: ...
    @property
    def thread(self) -> int: ...
    def take(self, first: int) -> tuple[int, list[tuple[int, DeferredEvent]]]: ...

class MessageCache:
    inline_check: InlineCheck | None
    put: CodeType | None
    get: CodeType | None
    take: CodeType | None
    disabled: bool
    has_entries: bool
    has_group_calls: bool
    has_shared_queues: bool
    def __init__(
        self,
        specs: dict[str, tuple[Any, ...]],
        tables: tuple[dict[int, tuple[Any, Any]], ...],
        keys: tuple[str, ...],
        matches: tuple[Callable[[str], Any], ...],
        plain_names: bool,
    ) -> None: ...

class GrammarTables:
    def __init__(
        self,
        *,
        columns: int,
        table: Sequence[int],
        states: tuple[tuple[int, int, int, bool], ...],
        transitions: tuple[tuple[Any, ...], ...],
        attributes: tuple[tuple[int, int, str | None], ...],
        messages: tuple[tuple[str, str, bool], ...],
        constants: tuple[Any, ...],
        functions: tuple[Callable[..., Any], ...],
        group: str | None,
        undefined: object,
        slow: Callable[..., Any],
        lost: Callable[[int, tuple[Any, ...]], bool],
        key: Callable[[dict[str, Any]], int | str | None],
    ) -> None: ...

class GrammarMachine:
    failed: bool
    @property
    def at(self) -> int: ...
    @property
    def came(self) -> list[int]: ...
    @property
    def others(self) -> dict[tuple[str, str], int]: ...
    @property
    def halts(self) -> bool: ...
    def __init__(
        self, tables: GrammarTables, start: Sequence[tuple[int, tuple[Any, ...]]], warn: Callable[[str], None]
    ) -> None: ...
    def feed(self, events: list[dict[str, Any]], start: int, stop_when_lost: bool) -> int: ...
    def undo(self, position: int) -> bool: ...
    def waiting(self) -> list[int | str | None]: ...
    def frames(self, key: object) -> list[tuple[int, tuple[Any, ...]]]: ...
    def dump(self) -> dict[int | str | None, list[tuple[int, tuple[Any, ...]]]]: ...
    def load(
        self,
        stacks: dict[int | str | None, list[tuple[int, tuple[Any, ...]]]],
        came: list[int],
        others: dict[tuple[str, str], int],
    ) -> None: ...
