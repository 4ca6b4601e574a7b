"""What `import lawful` offers, and that it costs nothing until it is used."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import api_sample
import lawful

LAW = "a matches {e:'a'};\nb matches {e:'b'};\nMain = a b;\n"


@pytest.mark.parametrize("name", lawful.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(lawful, name) is not None
    assert name in dir(lawful)


def test_other_names_are_not() -> None:
    with pytest.raises(AttributeError, match="no attribute 'lwa'"):
        lawful.lwa  # noqa: B018


def test_the_import_is_lazy() -> None:
    program = (
        "import sys; import lawful;"
        "loaded = {name for name in sys.modules if name.startswith('lawful.') or name in ('msgspec', 'click')};"
        "loaded -= {'lawful.lazy_names'};"
        "sys.exit(str(sorted(loaded)) if loaded else 0)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_compile_check_and_monitor(tmp_path: Path) -> None:
    law = lawful.rml.compile(LAW)
    outcome = law.check([{"e": "a"}, {"e": "c"}])
    assert isinstance(outcome, lawful.Outcome)
    assert (outcome.accepted, outcome.rejected_at) == (False, 2)
    monitor = law.monitor()
    assert isinstance(monitor, lawful.Monitor)
    assert monitor.step({"e": "a"}) is lawful.Verdict.CURRENTLY_FALSE
    assert pickle.loads(pickle.dumps(monitor)).step({"e": "b"}) is lawful.Verdict.CURRENTLY_TRUE
    assert isinstance(law, lawful.Law)
    path = tmp_path / "ab.rml"
    path.write_text(LAW)
    assert lawful.load_law(path).check([{"e": "a"}, {"e": "b"}]).accepted


def test_errors_have_one_family() -> None:
    assert issubclass(lawful.LawError, lawful.LawfulError)
    assert issubclass(lawful.TraceError, lawful.LawfulError)
    with pytest.raises(lawful.LawError):
        lawful.rml.compile("Main = nonsense;")


def test_a_typed_program_runs(tmp_path: Path) -> None:
    assert [Path(file or "").name for file in api_sample.watched_block()] == ["api_sample.py"]
    assert api_sample.watched_function()(4) == 8
    assert api_sample.sampled() == ["api_sample.Account"]
    trace = tmp_path / "t.jsonl"
    trace.write_text('{"e": "a"}\n{"e": "b"}\n')
    law = lawful.rml.compile(LAW)
    assert api_sample.checked(law, str(trace)).accepted
    assert api_sample.stepped(law.monitor()) is lawful.Verdict.FALSE
