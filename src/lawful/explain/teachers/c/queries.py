"""The C code that turns a question into properties for CBMC: Figs. 4, 5 and 6 of the paper, and the word left open."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lawful.explain.automata import Automaton
from lawful.explain.teacher import Word

FAIL = "__lawful_fail.assertion.1"
END = "__lawful_end.assertion.1"
EVENT = "__lawful_event"  # the variable that has each letter of a word in turn: the trace of an answer shows it


def _type(most: int) -> str:
    return "unsigned char" if most < 256 else "unsigned short" if most < 65536 else "unsigned int"


def _table(name: str, values: Sequence[object]) -> str:
    # C has no empty arrays.
    filled = list(values) or [0]
    return f"const unsigned int {name}[{len(filled)}] = {{{', '.join(map(str, filled))}}};"


_HOLDS = '__CPROVER_assert(1, "");'  # a property that cannot be broken


def _following(word: Word, assumed: str, fail: str, end: str) -> str:
    """Code that follows a word, with an assumption about each letter, and assertions where the program stops."""
    return f"""
{_table("__lawful_word", word)}
unsigned int __lawful_index = 0;
unsigned int {EVENT};
void __lawful_learn(unsigned int letter)
{{
    {assumed}
    {EVENT} = letter;
    __lawful_index = __lawful_index + 1;
}}
void __lawful_fail(void) {{ {fail} }}
void __lawful_end(void) {{ {end} }}
"""


def _just(word: Word) -> str:
    return f"__CPROVER_assume(__lawful_index < {len(word)}u && __lawful_word[__lawful_index] == letter);"


def membership(word: Word) -> str:
    """Fig. 4: paths that are not compatible with a word, which ends with the error, are blocked."""
    events = word[:-1]
    fails = f'__CPROVER_assert(__lawful_index != {len(events)}u, "the word ends in the error");'
    return _following(events, _just(events), fails, _HOLDS)


def passing(word: Word) -> str:
    """Whether an execution has just these events and does not fail."""
    ends = f'__CPROVER_assert(__lawful_index != {len(word)}u, "the word ends well");'
    return _following(word, _just(word), _HOLDS, ends)


def beginning(word: Word, longest: int) -> str:
    """Whether an execution begins with these events, ends, and has no longer a word than this."""
    size = len(word)
    return _following(
        word,
        f"__CPROVER_assume(__lawful_index < {longest}u);"
        f" if (__lawful_index < {size}u) __CPROVER_assume(__lawful_word[__lawful_index] == letter);",
        f'__CPROVER_assert(!(__lawful_index >= {size}u && __lawful_index < {longest}u), "it fails later");',
        f'__CPROVER_assert(__lawful_index < {size}u, "it ends well later");',
    )


def _automaton(automaton: Automaton) -> str:
    letters = len(automaton.labels)
    return f"""
{_table("__lawful_next", [to for row in automaton.transitions for to in row])}
{_table("__lawful_accepting", [int(state in automaton.accepting) for state in range(len(automaton))])}
unsigned int __lawful_index = 0;
unsigned int __lawful_state = {automaton.initial};
unsigned int {EVENT};
void __lawful_step(unsigned int letter)
{{
    __lawful_state = __lawful_next[__lawful_state * {letters}u + letter];
    {EVENT} = letter;
    __lawful_index = __lawful_index + 1;
}}
"""


def conjecture(automaton: Automaton, longest: int, error: int) -> str:
    """Fig. 5, positive feedback. The state is followed along the path, in place of being computed at its end."""
    return f"""{_automaton(automaton)}
void __lawful_learn(unsigned int letter)
{{
    __CPROVER_assume(__lawful_index < {longest}u);
    __lawful_step(letter);
}}
void __lawful_fail(void)
{{
    __CPROVER_assume(__lawful_index < {longest}u);
    __lawful_step({error}u);
    __CPROVER_assert(__lawful_accepting[__lawful_state], "positive feedback");
}}
void __lawful_end(void) {{ {_HOLDS} }}
"""


def trap(automaton: Automaton, longest: int, error: int, known: Iterable[Word]) -> str:
    """Fig. 6, negative feedback: from where the program ended, any letters that lead to an accepting state.

    Known failures are blocked: the code also follows a trie of them."""
    letters = error + 1
    # No loop: the bound on the program's loops would cut it.
    guessed = "\n".join("    __lawful_guess();" for _ in range(longest))
    return f"""{_automaton(automaton)}
{_trie(known, letters)}
_Bool __lawful_done = 0;
void __lawful_learn(unsigned int letter)
{{
    __CPROVER_assume(__lawful_index < {longest}u);
    __lawful_step(letter);
    __lawful_node = __lawful_trie[__lawful_node * {letters}u + letter];
}}
void __lawful_fail(void) {{ {_HOLDS} }}
void __lawful_guess(void)
{{
    unsigned int letter;
    __lawful_done = __lawful_done || __lawful_accepting[__lawful_state];
    if (!__lawful_done && __lawful_index < {longest}u)
    {{
        __CPROVER_assume(letter < {letters}u);
        __lawful_learn(letter);
    }}
}}
void __lawful_end(void)
{{
{guessed}
    __CPROVER_assert(!(__lawful_accepting[__lawful_state] && !__lawful_known[__lawful_node]), "negative feedback");
}}
"""


def denied(automaton: Automaton, longest: int, error: int, known: Iterable[Word]) -> str:
    """Negative feedback of executions alone: one does the events of an accepted word, ends, and did not fail there."""
    letters = error + 1
    return f"""{_automaton(automaton)}
{_trie(known, letters)}
_Bool __lawful_chosen = 0;
void __lawful_choose(void)
{{
    _Bool here;
    if (here && !__lawful_chosen
        && __lawful_accepting[__lawful_next[__lawful_state * {letters}u + {error}u]]
        && !__lawful_known[__lawful_trie[__lawful_node * {letters}u + {error}u]])
    {{
        __lawful_chosen = 1;
        {EVENT} = {error};
    }}
}}
void __lawful_learn(unsigned int letter)
{{
    __lawful_choose();
    __CPROVER_assume(__lawful_index < {longest}u);
    __lawful_step(letter);
    __lawful_node = __lawful_trie[__lawful_node * {letters}u + letter];
}}
void __lawful_fail(void)
{{
    __lawful_choose();
    __CPROVER_assert(!(__lawful_chosen && __lawful_index < {longest}u), "it fails elsewhere");
}}
void __lawful_end(void)
{{
    if (__lawful_index < {longest}u)
        __lawful_choose();
    __CPROVER_assert(!__lawful_chosen, "it ends well");
}}
"""


def _trie(words: Iterable[Word], letters: int) -> str:
    """Tables of the words as a trie: node 0 is nowhere, node 1 the empty word; and which nodes are words."""
    rows, marked = [[0] * letters, [0] * letters], [0, 0]
    for word in words:
        node = 1
        for letter in word:
            if not rows[node][letter]:
                rows.append([0] * letters)
                marked.append(0)
                rows[node][letter] = len(rows) - 1
            node = rows[node][letter]
        marked[node] = 1
    return f"""{_table("__lawful_trie", [to for row in rows for to in row])}
{_table("__lawful_known", marked)}
unsigned int __lawful_node = 1;"""


def open_word(longest: int, error: int) -> str:
    """The word itself is an input: one formula for all questions within a bound.

    `fails` is whether the execution fails, `length` the length of its word; both are left open, as the letters are."""
    letter, index = _type(error), _type(longest + 1)
    places = "\n".join(f"extern {letter} __lawful_w{place};" for place in range(longest))
    reading = f"__lawful_w{longest - 1}"
    for place in reversed(range(longest - 1)):
        reading = f"(__lawful_index == {place} ? __lawful_w{place} : {reading})"
    return f"""
{places}
extern {index} __lawful_length;
extern unsigned char __lawful_fails;
{index} __lawful_index = 0;
unsigned int {EVENT};
void __lawful_learn(unsigned int letter)
{{
    __CPROVER_assume(__lawful_index < {longest} && {reading} == letter);
    __lawful_index = __lawful_index + 1;
}}
void __lawful_fail(void)
{{
    __CPROVER_assert(!((__lawful_fails & 1) && __lawful_length == __lawful_index + 1), "it fails");
}}
void __lawful_end(void)
{{
    __CPROVER_assert(!(!(__lawful_fails & 1) && __lawful_length == __lawful_index), "it ends well");
}}
"""
