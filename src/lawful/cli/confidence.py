"""``lawful confidence``: samples, confidence and error rate, each from the others."""

from __future__ import annotations

import sys
from collections.abc import Callable
from decimal import ROUND_CEILING, Context, Decimal
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import click

from lawful.cli import trace_input
from lawful.cli.options import FILE, NARROW, text_or_json
from lawful.errors import LawfulError

if TYPE_CHECKING:
    from lawful.reports.chart import Chart

_EXAMPLES = """
\b
Examples:
  lawful confidence --error-rate 1e-5 --confidence 0.99999
  lawful confidence --error-rate 1e-5 --samples 500000
  lawful confidence --confidence 0.99 --samples 2000 --violations 3
  lawful confidence --error-rate 1e-5 --samples 500000 --plot
  lawful confidence policy taper --format mermaid
"""
_IN_TERMINAL = "-"
_POINTS = 121
_MOST_PLOTTED = 10**300  # samples: more are no float
_MOST_DIGITS = 300  # of a number of samples, for the same reason
_LEAST_PLOTTED = 1e-15  # of doubt


class Answer(NamedTuple):
    """The number that a user asks for, and a sentence about it."""

    name: str
    value: float
    shown: str
    sentence: str


# Numbers are texts here, so that all errors look the same.
@click.group(name="confidence", invoke_without_command=True, epilog=_EXAMPLES, context_settings=NARROW)
@click.option("--error-rate", "--epsilon", "epsilon", metavar="RATE", help="Set the share of violating objects.")
@click.option("--confidence", "confidence", metavar="SHARE", help="Set how sure to be: 0.99999.")
@click.option("--delta", metavar="SHARE", help="Set 1 - confidence instead: 1e-5.")
@click.option("--samples", metavar="N", help="Set how many objects were followed to their end.")
@click.option("--violations", metavar="N", help="Set how many of these broke the law.  [default: 0]")
@click.option(
    "--plot",
    metavar="[FILE.svg]",
    is_flag=False,
    flag_value=_IN_TERMINAL,
    type=FILE,
    help="Draw the answer against the number of samples, in the terminal or into a file.",
)
@text_or_json
@click.pass_context
def command(
    ctx: click.Context,
    /,
    epsilon: str | None,
    confidence: str | None,
    delta: str | None,
    samples: str | None,
    violations: str | None,
    plot: str | None,
    form: Literal["text", "json"],
) -> None:
    """Compute what samples say about the error rate of all objects.

    Of error rate, confidence and samples, give two: the third is printed. With `--violations` they are for
    samples of which so many broke the law, after Clopper and Pearson; the number of samples must then have
    been fixed beforehand.
    """
    if ctx.invoked_subcommand is not None:
        return
    from lawful.confidence import statistics

    rate = None if epsilon is None else statistics.share(trace_input.number("--error-rate", epsilon), "the error rate")
    doubt = _delta(confidence, delta)
    n = None if samples is None else _count("--samples", samples)
    k = 0 if violations is None else _count("--violations", violations)
    given = sum(each is not None for each in (rate, doubt, n))
    if given != 2:
        few = given < 2
        raise LawfulError(
            "usage",
            f"of error rate, confidence and samples, {'two are needed' if few else 'all three are given'}",
            hint=f"{'give' if few else 'keep'} two of --error-rate, --confidence and --samples: the third is printed",
        )
    if n is not None:
        statistics.counts(n, k)
    if plot is not None and plot != _IN_TERMINAL:
        if not plot.endswith(".svg"):
            raise LawfulError("usage", "a plot is written as SVG", where=plot, hint="name a file that ends in .svg")
        trace_input.look_at_output(plot, ())
    answer = _answer(rate, doubt, n, k)
    if form == "json":
        _print_json(answer, rate, doubt, n, k)
    else:
        click.echo(answer.shown)
        click.echo(answer.sentence)
    if plot is not None:
        _plot(_chart(answer, rate, doubt, n, k), plot, below=form == "text")


@command.command(name="policy", context_settings=NARROW)
@click.argument("policy", metavar="NAME|FILE")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "dot", "mermaid"]),
    default="text",
    show_default=True,
    help="Choose the format.",
)
def policy_command(policy: str, form: Literal["text", "dot", "mermaid"]) -> None:
    """Show a sampling policy: one that comes with Lawful, or a file.

    Those that come with it are off, taper, taper(8), coverage, overhead and overhead(5%).
    """
    from lawful.confidence import policies
    from lawful.reports.policy import render

    click.echo(render(policies.find(policy), form), nl=False)


def _answer(rate: float | None, doubt: float | None, n: int | None, k: int) -> Answer:
    from lawful.confidence import statistics
    from lawful.reports.confidence import part_of, rounded, sure

    if n is None:
        assert rate is not None and doubt is not None
        needed = statistics.samples_for(rate, doubt, k)
        return Answer(
            "samples",
            needed,
            str(needed),
            f"{_samples(needed, k)} {_verb('show', needed)}, with {sure(doubt)} confidence, that fewer than "
            f"{part_of(rate, 'objects')} break the law.",
        )
    if doubt is None:
        assert rate is not None
        left = statistics.doubt_after(n, rate, k)
        return Answer(
            "confidence",
            statistics.confidence_after(n, rate, k),
            _share_of_one(left),
            f"{_samples(n, k)} {_verb('give', n)} {sure(left)} confidence that fewer than {part_of(rate, 'objects')} "
            "break the law.",
        )
    bound = statistics.upper_bound(n, k, doubt)
    return Answer(
        "error_rate",
        bound,
        rounded(bound, up=True),
        f"{_samples(n, k)} {_verb('show', n)}, with {sure(doubt)} confidence, that at most "
        f"{part_of(bound, 'objects')} break the law.",
    )


def _samples(n: int, k: int) -> str:
    if not k:
        return f"{n:,} clean sample{'' if n == 1 else 's'}"
    return f"{n:,} sample{'' if n == 1 else 's'} with {k:,} violation{'' if k == 1 else 's'}"


def _verb(word: str, n: int) -> str:
    return f"{word}s" if n == 1 else word


def _share_of_one(doubt: float) -> str:
    """A confidence with as many digits as it has nines, and some more; never more than it is."""
    left = Context(prec=6, rounding=ROUND_CEILING).create_decimal(repr(doubt))
    shown = f"{1 - max(left, Decimal('1e-15')):f}"
    return shown.rstrip("0").rstrip(".") if "." in shown else shown


def _print_json(answer: Answer, rate: float | None, doubt: float | None, n: int | None, k: int) -> None:
    import msgspec

    from lawful.confidence import statistics

    if answer.name == "confidence":
        assert rate is not None and n is not None
        doubt = statistics.doubt_after(n, rate, k)
    report: dict[str, Any] = {
        "asked": answer.name,
        "error_rate": answer.value if rate is None else rate,
        "confidence": answer.value if answer.name == "confidence" else statistics.complement(doubt or 0.0),
        "delta": doubt,
        "samples": answer.value if n is None else n,
        "violations": k,
        "says": answer.sentence,
    }
    sys.stdout.write(msgspec.json.encode(report).decode() + "\n")


# -- the plot ----------------------------------------------------------------------------------------------------------


def _chart(answer: Answer, rate: float | None, doubt: float | None, n: int | None, k: int) -> Chart:
    """Confidence against samples if there is an error rate, and else the bound."""
    from lawful.confidence import statistics
    from lawful.reports.chart import Axis, Chart, Panel, Series, VerticalLine, nines
    from lawful.reports.confidence import part_of, sure

    last = min(int(answer.value) if n is None else n, _MOST_PLOTTED)
    most = max(10 * (k + 1), last + last // 4)
    violated = f" with {k:,} violation{'' if k == 1 else 's'}" if k else ""
    if rate is not None:
        known: float = rate
        title = f"Confidence that fewer than {part_of(rate, 'objects')} break the law"
        marker = VerticalLine(float(last), answer.shown if n is None else "")
        points = _line(k, most, lambda at: max(statistics.doubt_after(at, known, k), _LEAST_PLOTTED))
        low = min(0.1, *(value for _, value in points))
        y = Axis("confidence", log=True, low=low, high=1.0, form=nines, falling=True)
        return Chart(
            title, Axis(f"samples{violated}", low=0.0, high=float(most)), [Panel([Series("", points)], y)], [marker]
        )
    assert doubt is not None
    level: float = doubt
    title = f"Error rate not exceeded with {sure(doubt)} confidence"
    points = _line(max(k, 1), most, lambda at: statistics.upper_bound(at, k, level), even=False)
    return Chart(
        title,
        Axis(f"samples{violated}", log=True, low=float(max(k, 1)), high=float(most)),
        [Panel([Series("", points)], Axis("error rate", log=True, high=1.0))],
        [VerticalLine(float(last))] if last else [],
    )


def _line(first: int, last: int, value: Callable[[int], float], *, even: bool = True) -> list[tuple[float, float]]:
    """Points at even distances, or each by the same factor farther than the one before."""
    shares = [at / (_POINTS - 1) for at in range(_POINTS)]
    places = [first + (last - first) * share if even else first * (last / first) ** share for share in shares]
    return [(at, value(at)) for at in sorted({min(last, round(place)) for place in places})]


def _plot(chart: Chart, target: str, *, below: bool) -> None:
    if target == _IN_TERMINAL:
        from lawful.reports.plot import plot_lines

        # Beside JSON it would be no JSON any more.
        stream = sys.stdout if below else sys.stderr
        show, width = trace_input.printer(stream)
        stream.write("\n")
        show(plot_lines(chart, width=min(width, 80)))
        return
    from lawful.reports.chart import render_svg

    with trace_input.opened(target) as file:
        file.write(render_svg(chart))


# -- options -----------------------------------------------------------------------------------------------------------


def _delta(confidence: str | None, delta: str | None) -> float | None:
    from lawful.confidence import statistics

    if confidence is None:
        return None if delta is None else statistics.share(trace_input.number("--delta", delta), "delta")
    if delta is not None:
        raise LawfulError(
            "usage", "--confidence and --delta say the same", hint="give one of them: confidence is 1 - delta"
        )
    return statistics.complement(statistics.share(trace_input.number("--confidence", confidence), "the confidence"))


def _count(option: str, text: str) -> int:
    """A whole number, also as 1e6 or 1_000_000; exactly that one, and not the float beside it."""
    try:
        exact = Decimal(text)
        few = exact.adjusted() <= _MOST_DIGITS
        whole = int(exact) if few else 0
    except (ValueError, ArithmeticError):  # what is nan or infinite is no int
        exact, few, whole = Decimal("0.5"), True, 0
    if not few:
        raise LawfulError(
            "confidence-samples",
            f"{option}: {text!r} is more than can be counted",
            hint=f"at most 1e{_MOST_DIGITS}",
        )
    if whole != exact:
        raise LawfulError(
            "confidence-samples", f"{option}: {text!r} is no whole number", hint="write 1000000, 1_000_000 or 1e6"
        )
    return whole
