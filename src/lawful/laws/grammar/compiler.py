"""Compiles a resolved grammar into the tables of `compiled_grammar`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lawful.laws.grammar.analysis import Analysis
from lawful.laws.grammar.compiled_grammar import (
    NO_STEP,
    Assert,
    CompiledGrammar,
    Ending,
    Instruction,
    Load,
    NewFrame,
    Set,
    State,
    Transition,
)
from lawful.laws.grammar.resolved_grammar import (
    BUILT_IN,
    CHILD,
    GIVEN,
    HEAD,
    MESSAGE,
    OF_REPLIES,
    Action,
    CallTerm,
    Check,
    Grammar,
    OperationTerm,
    Ref,
    Register,
    Rule,
    Term,
    attributes,
    refs,
)
from lawful.laws.grammar.syntax import Message

Values = dict[Ref, Term | Load]
"""The values that a rule has so far; `Load`: an attribute of the message that is not loaded yet."""


def compile_grammar(grammar: Grammar, analysis: Analysis) -> CompiledGrammar:
    return _Compiler(grammar, analysis).compiled


class _Compiler:
    def __init__(self, grammar: Grammar, analysis: Analysis) -> None:
        self.grammar = grammar
        self.analysis = analysis
        self.choices = analysis.choices()
        self.compiled = CompiledGrammar(grammar, choices=self.choices)
        self.known: dict[tuple[int | None, int, int], int] = {}
        self._pending: list[int] = []
        self._empties = [Ending.ALWAYS if nullable else Ending.NEVER for nullable in analysis.nullable]
        while self._find_empties():
            pass
        self._start()
        while self._pending:
            self._expand(self._pending.pop())

    def _start(self) -> None:
        code = _Code(self.compiled, 0)
        values = [code.set(code.operand(term, {})) for term in self.grammar.start_values]
        frame = NewFrame(self.entry(self.grammar.start), tuple(values))
        self.compiled.start = Transition(tuple(code.instructions), (frame,), (), True, 0, 0)

    # -- states -----------------------------------------------------------------------------------

    def entry(self, nonterminal: int) -> int:
        """The state where a nonterminal begins; it keeps its inherited attributes."""
        return self._state(None, 0, nonterminal, True)

    def _state(self, rule: Rule | None, position: int, nonterminal: int, waits: bool) -> int:
        key = (None if rule is None else rule.number, position, nonterminal)
        if key not in self.known:
            number = self.known[key] = len(self.compiled.states)
            if rule is None:
                owner = self.grammar.nonterminals[nonterminal]
                names = tuple(f"{owner}.{attribute}" for attribute in self.grammar.inherited[nonterminal])
            else:
                names = tuple(self._name(rule, ref) for ref in rule.kept[position])
            state = State(key[0], position, nonterminal, waits, names, self._ending(rule, position, nonterminal, waits))
            self.compiled.states.append(state)
            self.compiled.table += [NO_STEP] * self.compiled.columns
            self._pending.append(number)
        return self.known[key]

    def _name(self, rule: Rule, ref: Ref) -> str:
        if ref.kind == HEAD:
            return f"{self.grammar.nonterminals[rule.head]}.{ref.attribute}"
        return f"{rule.alternative.symbols[ref.position].called}.{ref.attribute}"

    def _ending(self, rule: Rule | None, position: int, nonterminal: int, waits: bool) -> Ending:
        if rule is None:
            return self._empties[nonterminal]
        return Ending.NEVER if waits else self._rest_empty(rule, position + 1)

    def _find_empties(self) -> bool:
        """Which nonterminals can stand for no message at all, and whether values decide; was anything new found?"""
        found = False
        for rule in reversed(self.analysis.rules):
            # At most one rule of a nonterminal can be empty.
            if self.analysis.is_nullable(rule.symbols):
                ending = self._rest_empty(rule, 0)
                found = found or ending != self._empties[rule.head]
                self._empties[rule.head] = ending
        return found

    def _rest_empty(self, rule: Rule, position: int) -> Ending:
        rest = rule.symbols[position:]
        if not self.analysis.is_nullable(rest):
            return Ending.NEVER
        if any(_checks(actions) for actions in rule.actions[position:]):
            return Ending.BY_VALUES
        return min((self._empties[~symbol] for symbol in rest), default=Ending.ALWAYS)

    # -- transitions ------------------------------------------------------------------------------

    def _expand(self, number: int) -> None:
        state = self.compiled.states[number]
        rule = None if state.rule is None else self.grammar.rules[state.rule]
        row = number * self.compiled.columns
        if rule is None:
            for terminal in sorted(self.choices[state.nonterminal]):
                self.compiled.table[row + terminal] = self._from_entry(state.nonterminal, terminal)
            self.compiled.states[number].lost = self._lost(state.nonterminal)
        elif state.waits:
            terminal = rule.symbols[state.position]
            self.compiled.table[row + terminal] = self._from_rule(rule, state.position, terminal)
        else:
            state.resume = self._resume(rule, state.position)

    def _add(self, walk: _Walk) -> int:
        transition = walk.transition()
        if transition is None:
            return NO_STEP
        self.compiled.transitions.append(transition)
        return len(self.compiled.transitions) - 1

    def _from_entry(self, nonterminal: int, terminal: int) -> int:
        attributes = self.grammar.inherited[nonterminal]
        walk = _Walk(self, terminal, len(attributes), 0)
        rule = self.choices[nonterminal][terminal]
        walk.run(rule, 0, {Ref(HEAD, -1, name): Register(index) for index, name in enumerate(attributes)})
        return self._add(walk)

    def _from_rule(self, rule: Rule, position: int, terminal: int) -> int:
        kept = rule.kept[position]
        walk = _Walk(self, terminal, len(kept), 0)
        walk.run(rule, position, {ref: Register(index) for index, ref in enumerate(kept)}, arrived=True)
        return self._add(walk)

    def _resume(self, rule: Rule, position: int) -> int:
        kept = rule.kept[position]
        results = self.grammar.synthesised[~rule.symbols[position]]
        walk = _Walk(self, None, len(kept), len(results))
        values: Values = {ref: Register(index) for index, ref in enumerate(kept)}
        for index, name in enumerate(results):
            values[Ref(CHILD, position, name)] = Register(len(kept) + index)
        walk.run(rule, position + 1, values)
        return self._add(walk)

    def _lost(self, nonterminal: int) -> tuple[tuple[Term, ...], ...]:
        """Assertions of each alternative over inherited attributes alone, if every alternative has some."""
        attributes = self.grammar.inherited[nonterminal]
        values: Values = {Ref(HEAD, -1, name): Register(index) for index, name in enumerate(attributes)}
        code = _Code(self.compiled, len(attributes))
        found = []
        for rule in self.grammar.alternatives[nonterminal]:
            own = [
                action.term
                for action in rule.actions[0]
                if isinstance(action, Check) and all(ref.kind == HEAD for ref in refs(action.term))
            ]
            if not own:
                return ()
            found.append(tuple(code.operand(term, values) for term in own))
        return tuple(found)


def _checks(actions: Sequence[Action]) -> bool:
    return any(isinstance(action, Check) for action in actions)


def _loads(message: Message) -> Iterator[Load]:
    """All attributes of a message."""
    own = [parameter.name.text for parameter in message.parameters]
    fields = {**BUILT_IN, **(OF_REPLIES if message.reply else {})}
    for name in attributes(message):
        position = own.index(name) if name in own else None
        yield Load(message.terminal.text, name, position, None if name in own else fields.get(name))


class _Code:
    """Instructions, with the registers that they fill."""

    def __init__(self, compiled: CompiledGrammar, registers: int) -> None:
        self.compiled = compiled
        self.instructions: list[Instruction] = []
        self.registers = registers
        self._loaded: dict[Load, int] = {}

    def set(self, value: Term | Load) -> int:
        """The register that holds this value; an attribute of the message is loaded when it is first needed."""
        if isinstance(value, Register):
            return value.number
        if isinstance(value, Load):
            if value in self._loaded:
                return self._loaded[value]
            self._loaded[value] = self.registers
            if value not in self.compiled.attributes:
                self.compiled.attributes.append(value)
        self.instructions.append(value if isinstance(value, Load) else Set(value))
        self.registers += 1
        return self.registers - 1

    def operand(self, term: Term, values: Values) -> Term:
        """The term, with registers in the place of its references."""
        if isinstance(term, Ref):
            value = values[term]
            return Register(self.set(value)) if isinstance(value, Load) else value
        if isinstance(term, OperationTerm | CallTerm):
            return term._replace(operands=tuple(self.operand(each, values) for each in term.operands))
        return term


class _Walk:
    """Runs rules with values that are registers, until a message that has not come yet is needed."""

    def __init__(self, compiler: _Compiler, message: int | None, frame_size: int, results: int) -> None:
        self.compiler = compiler
        self.grammar = compiler.grammar
        self.message = message  # that has not been consumed; None: none
        self.frame_size = frame_size
        self.code = _Code(compiler.compiled, frame_size + results)
        self.results_size = results
        self.had_message = message is not None
        self.above: list[tuple[Rule, int, Values]] = []  # rules that wait for the present one
        self.frames: list[NewFrame] | None = None
        self.results: tuple[int, ...] = ()

    def run(self, rule: Rule, position: int, values: Values, *, arrived: bool = False) -> None:
        while True:
            if not arrived:
                self._act(rule, position, values)
            arrived = False
            if position == len(rule.symbols):
                results = [self.code.set(self.code.operand(term, values)) for term in rule.results]
                if not self.above:
                    self.frames, self.results = [], tuple(results)
                    return
                rule, position, values = self.above.pop()
                # Nobody asks a rule that did not wait for its last symbol, and so nobody asks that symbol.
                if wanted := self.grammar.synthesised[~rule.symbols[position]]:
                    for name, register in zip(wanted, results, strict=True):
                        values[Ref(CHILD, position, name)] = Register(register)
                position += 1
                continue
            symbol = rule.symbols[position]
            if symbol >= 0:
                if self.message is None:
                    self._stop(self._frame(rule, position, values, True))
                    return
                if self.message != symbol:
                    return  # no step: frames stay None
                self.message = None
                for load in _loads(self.grammar.terminals[symbol]):
                    values[Ref(MESSAGE, position, load.name)] = load
                position += 1
                continue
            nonterminal = ~symbol
            given = [values[Ref(GIVEN, position, name)] for name in self.grammar.inherited[nonterminal]]
            idle = position == len(rule.symbols) - 1 and rule.ends_idly
            if self.message is None:
                frames = [] if idle else [self._frame(rule, position, values, False)]
                registers = tuple(self.code.set(value) for value in given)
                self._stop(*frames, NewFrame(self.compiler.entry(nonterminal), registers))
                return
            chosen = self.compiler.choices[nonterminal].get(self.message)
            if chosen is None:
                return
            # A rule that has nothing left to do but hand on no results need not wait; its own caller then takes over.
            if not idle:
                self.above.append((rule, position, values))
            names = self.grammar.inherited[nonterminal]
            rule, position = chosen, 0
            values = {Ref(HEAD, -1, name): value for name, value in zip(names, given, strict=True)}

    def _act(self, rule: Rule, position: int, values: Values) -> None:
        for action in rule.actions[position]:
            operand = self.code.operand(action.term, values)
            if isinstance(action, Check):
                self.code.instructions.append(Assert(operand, action.number, tuple(self._known(rule, values))))
            else:
                values[action.ref] = Register(self.code.set(operand))

    def _known(self, rule: Rule, values: Values) -> Iterator[tuple[str, Term]]:
        for each, its_values in ((rule, values), *((outer, theirs) for outer, _, theirs in reversed(self.above))):
            for ref, value in its_values.items():
                if ref.kind != MESSAGE and not isinstance(value, Load):
                    yield self.compiler._name(each, ref), value

    def _frame(self, rule: Rule, position: int, values: Values, waits: bool) -> NewFrame:
        state = self.compiler._state(rule, position, rule.head, waits)
        return NewFrame(state, tuple(self.code.set(values[ref]) for ref in rule.kept[position]))

    def _stop(self, *frames: NewFrame) -> None:
        below = [self._frame(rule, position, values, False) for rule, position, values in self.above]
        self.frames = [*below, *frames]

    def transition(self) -> Transition | None:
        if self.frames is None:
            return None
        taken = self.had_message and self.message is None
        code, frames = tuple(self.code.instructions), tuple(self.frames)
        return Transition(code, frames, self.results, taken, self.frame_size, self.results_size)
