"""From text to a law: a view, with its grammar in the same text or in another file."""

from __future__ import annotations

import os
from dataclasses import replace

from lawful.diagnostics import Diagnostic, LawSourceError, Source, did_you_mean
from lawful.errors import LawError
from lawful.laws.grammar.analysis import Analysis
from lawful.laws.grammar.checker import Checker, Problems
from lawful.laws.grammar.compiler import compile_grammar
from lawful.laws.grammar.groups import Binding
from lawful.laws.grammar.law import GrammarLaw
from lawful.laws.grammar.reader import read
from lawful.laws.grammar.syntax import File, View

GRAMMAR_SUFFIX = ".g"


def compile(
    text: str, *, name: str = "<law>", grammar: str | None = None, grammar_name: str | None = None
) -> GrammarLaw:
    """Compile a view with its grammar. Raises LawError with what is wrong; warnings are in `law.warnings`.

    `grammar` is the text of the file that the view names, if it names one.
    """
    if not isinstance(text, str) or not isinstance(grammar, str | None):
        raise TypeError(f"a law is text, not {type(text if not isinstance(text, str) else grammar).__name__}")
    source = Source(text, name)
    file = read(text, name=name)
    view = _only_view(file, source)
    if view.file is None and grammar is not None:
        raise _one(source, "view-two-grammars", "a grammar was given, and the view names no file", view.name.span)
    if view.file is not None and grammar is None and not file.productions:
        message = f"the grammar is in the file `{view.file.text}`"
        hint = "lawful.load_law finds it beside the view; otherwise give its text: compile(view, grammar=text)"
        raise _one(source, "view-grammar-not-found", message, view.file.span, hint)
    if view.file is None or grammar is None:
        return _compiled(view, file, None, source, source)
    if file.productions or file.starts:
        place = file.productions[0].head.span if file.productions else file.starts[0].name.span
        message = f"the view has its grammar in `{view.file.text}`, and here is another"
        raise _one(source, "view-two-grammars", message, place, "leave out one of them")
    other = Source(grammar, grammar_name or view.file.text)
    second = read(grammar, name=other.name)
    if second.views:
        message = "the file of a grammar has no view"
        raise _one(other, "view-several", message, second.views[0].name.span, "leave it out")
    return _compiled(view, file, second, source, other)


def load(text: str, name: str, path: str) -> GrammarLaw:
    """Compile the view in a file; a grammar that it names is in the same folder, or behind it in the same file."""
    own = read(text, name=name)
    view = _only_view(own, Source(text, name))
    if view.file is None:
        return compile(text, name=name)
    grammar_path = os.path.join(os.path.dirname(path), view.file.text)
    try:
        with open(grammar_path, encoding="utf-8-sig", newline="") as file:
            grammar = file.read()
    except UnicodeDecodeError:
        raise LawError("law-not-text", "a grammar is text in UTF-8", where=grammar_path) from None
    except OSError as error:
        if own.productions and isinstance(error, FileNotFoundError):
            return compile(text, name=name)
        message = f"the view's folder has no file `{view.file.text}`"
        hint = _similar(grammar_path)
        if not isinstance(error, FileNotFoundError):
            message, hint = f"`{view.file.text}` cannot be read: {error.strerror or error}", "a grammar is a text file"
        raise _one(Source(text, name), "view-grammar-not-found", message, view.file.span, hint) from None
    return compile(text, name=name, grammar=grammar, grammar_name=grammar_path)


def _similar(path: str) -> str:
    folder, name = os.path.split(path)
    near = did_you_mean(name, (each for each in os.listdir(folder or ".") if each.endswith(GRAMMAR_SUFFIX)))
    return f"did you mean `{near}`?" if near else "Lawful looks for the grammar in the view's folder"


def _one(source: Source, slug: str, message: str, span: tuple[int, int], hint: str | None = None) -> LawSourceError:
    return LawSourceError([Diagnostic("error", slug, message, span, hint)], source)


def _only_view(file: File, source: Source) -> View:
    if not file.views:
        hint = "a law begins with `view NAME specifies GROUP { ... }`"
        raise _one(source, "view-no-view", "the text has no view", (0, 0), hint)
    if len(file.views) > 1:
        hint = "one file for each: a law is one view with its grammar"
        raise _one(source, "view-several", "the text has several views", file.views[1].name.span, hint)
    return file.views[0]


def _compiled(view: View, file: File, second: File | None, source: Source, other: Source) -> GrammarLaw:
    problems = Problems()
    place = file if second is None else second
    if not view.messages:
        raise _one(source, "view-no-messages", "the view has no messages", view.name.span)
    if not place.productions:
        hint = "productions follow the view: `S ::= epsilon | ...`; or name their file: `view V grammar FILE ...`"
        raise _one(other, "view-no-grammar", "the grammar has no productions", (len(other.text.rstrip()),) * 2, hint)
    constants = (file.constants, () if second is None else second.constants)
    grammar = Checker(view, constants, place.starts, place.productions, other.text, problems).grammar()
    analysis = None
    if grammar is not None:
        analysis = Analysis(grammar)
        problems.grammar += analysis.problems()
    for origin, found in ((source, problems.view), (other, problems.grammar)):
        if source is other:
            found = [*problems.view, *problems.grammar]
        if any(each.severity == "error" for each in found):
            raise LawSourceError(sorted(found, key=lambda each: (each.severity, each.span)), origin)
    assert grammar is not None and analysis is not None
    warnings = [*problems.view, *_moved(problems.grammar, view, other, moved=second is not None)]
    compiled = compile_grammar(grammar, analysis)
    files = (file,) if second is None else (file, second)
    groups: dict[str, tuple[Binding, ...]] = {}
    for group in (group for each in files for group in each.groups):
        groups[group.name.text] = (*groups.get(group.name.text, ()), *group.bindings)
    classes = {named.name.text: named.target.text for each in files for named in each.classes}
    ordered = tuple(sorted(warnings, key=lambda each: each.span))
    return GrammarLaw(source, other, view, compiled, ordered, groups, classes)


def _moved(found: list[Diagnostic], view: View, other: Source, *, moved: bool) -> list[Diagnostic]:
    """Warnings about another file are shown where the view names it."""
    if not moved or view.file is None:
        return found
    span = view.file.span
    return [replace(each, message=f"{other.where(each.span[0])}: {each.message}", span=span) for each in found]
