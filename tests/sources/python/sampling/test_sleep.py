"""What has no samples is left alone, and wakes in time."""

from __future__ import annotations

from lawful.sources.python.tracer_protocol import Event, Sampling
from sources.python.sampling.programs import (
    COUNTER,
    COUNTER_LAW,
    COUNTER_SAMPLING,
    LIFE,
    Load,
    Make,
    heads,
    kinds,
    law,
    sees_everything,
)


def test_off_is_off(make: Make, load: Load) -> None:
    events: list[Event] = []
    tracer = make(events, [law(*COUNTER_LAW)], COUNTER_SAMPLING)
    module = load(COUNTER)
    tracer.start()
    module.lives(3)
    tracer.sample(1, 0.0)
    module.lives(3)  # every place is met once more
    tracer.flush()
    module.lives(3)
    before = tracer.callbacks
    module.lives(100)
    if tracer.name != "python" or not sees_everything(tracer):
        assert tracer.callbacks - before < 5
    tracer.flush()
    assert kinds(events) == LIFE * 3
    tracer.sample(1, 1.0)
    module.lives(2)
    tracer.stop()
    assert tracer.fault is None
    assert kinds(events) == LIFE * 5


def test_a_sample_is_followed_to_its_end_after_the_rate_has_fallen(make: Make, load: Load) -> None:
    events: list[Event] = []
    tracer = make(events, [law(*COUNTER_LAW)], COUNTER_SAMPLING)
    module = load(COUNTER)
    tracer.start()
    counter = module.Counter()
    tracer.sample(1, 0.0)
    for _ in range(1000):
        module.life()
    counter.up()
    assert tracer.samples(1) == (1, 1, 1)
    del counter
    tracer.flush()
    assert tracer.samples(1) == (1, 1, 0)
    module.lives(10)
    tracer.stop()
    assert kinds(events) == ["born", "field_write", "new", "func_pre", "field_write", "gone"]


def test_only_births_are_looked_at_while_there_is_no_sample(make: Make, load: Load) -> None:
    events: list[Event] = []
    tracer = make(events, [law(*COUNTER_LAW)], COUNTER_SAMPLING)
    tracer.sample(1, 1e-12)
    module = load(COUNTER)
    tracer.start()
    module.lives(1000)
    before = tracer.callbacks
    module.lives(1000)
    if not sees_everything(tracer):
        assert 1000 <= tracer.callbacks - before < 1010
    assert tracer.samples(1) == (2000, 0, 0)
    tracer.sample(1, 1.0, 2)
    module.lives(5)
    tracer.stop()
    assert kinds(events) == LIFE * 2
    assert tracer.samples(1) == (2002, 2, 0)


def test_a_budget_ends(make: Make, load: Load) -> None:
    events: list[Event] = []
    tracer = make(events, [law(*COUNTER_LAW)], COUNTER_SAMPLING)
    tracer.sample(1, 0.5, 7)
    module = load(COUNTER)
    tracer.start()
    module.lives(1000)
    tracer.flush()
    assert tracer.samples(1)[1:] == (7, 0)
    flips = heads(0, 1, 0.5, 1000)
    assert tracer.samples(1)[0] == next(n for n in range(1000) if sum(flips[:n]) == 7)
    before = tracer.callbacks
    module.lives(100)
    if tracer.name != "python" or not sees_everything(tracer):
        assert tracer.callbacks - before < 5
    tracer.stop()
    assert kinds(events).count("born") == 7


def test_released_samples_are_reported_no_more(make: Make, load: Load) -> None:
    """Whatever else is in the table of samples, and however it is packed there."""
    events: list[Event] = []
    sampling = Sampling({"prog.Counter": 1, "prog.Part": 2})
    tracer = make(events, [law(*COUNTER_LAW), law(("field_write", "prog.Part.number"))], sampling)
    module = load(COUNTER + "\nclass Part:\n    def __init__(self):\n        self.number = 1\n")
    tracer.start()
    counters = [module.Counter() for _ in range(300)]
    parts = [module.Part() for _ in range(300)]
    del counters[::3], parts[::2]
    tracer.sample(1, 0.0)
    tracer.release(1)
    tracer.flush()
    events.clear()
    for counter in counters:
        counter.up()
    for part in parts:
        part.__init__()
    assert (tracer.samples(1)[2], tracer.samples(2)[2]) == (0, 150)
    del counter, counters, part, parts
    tracer.stop()
    reported = [event["name"] for event in events if event["event"] == "gone"]
    assert (reported.count("prog.Counter"), reported.count("prog.Part")) == (0, 150)
    assert not [event for event in events if "Counter" in event["name"]]
