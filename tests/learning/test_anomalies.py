"""Anomalies: seeded faults come first, chance yields nothing, one cause is one anomaly, and what is shown of it."""

import random
from array import array

import pytest

from lawful.learning import anomalies, ranking, templates, window
from lawful.learning.learner_view import LearnerView
from lawful.learning.window_protocol import Instruction, Op, Pair, RuleState, Site, Word

PRODUCT = templates.compile(templates.DEFAULT)
LOOSEST = (
    Instruction(Op.COUNT, 4, 0),
    Instruction(Op.RATIO, 0.75, 0.6, 32),
    Instruction(Op.CONTEXT, 1),
    Instruction(Op.MEET),
    Instruction(Op.MEET),
)


class World:
    """A program's trace: `use` is what is done to one object, as `open:3 write:4 close:5`, name and line."""

    def __init__(self, rng=None, size=25):
        self.rng = rng
        self.size = size
        self.names = {}
        self.sites = {}
        self.histories = []
        self.raising = {}

    def number(self, name):
        return self.names.setdefault(name, len(self.names))

    def site(self, place):
        return self.sites.setdefault(place, len(self.sites))

    def use(self, text, file="app.py"):
        events = []
        for part in text.split():
            name, line = part.split(":")
            events.append((self.number(name), self.site((file, int(line)))))
        self.histories.append(events)
        return len(self.histories)  # its number as an object

    def events(self):
        if self.rng is None:
            return [(name, site, id_) for id_, history in enumerate(self.histories, 1) for name, site in history]
        queue = list(enumerate(self.histories, 1))
        self.rng.shuffle(queue)
        queue = [(id_, list(history)) for id_, history in queue]
        stream = []
        while queue:  # three objects are in use at a time
            id_, history = queue[self.rng.randrange(min(3, len(queue)))]
            stream.append((*history.pop(0), id_))
            if not history:
                queue.remove((id_, history))
        return stream

    def view(self, made=(), product=PRODUCT, texts=templates.DEFAULT):
        learned = window.Window(product, self.size)
        columns = list(zip(*self.events(), strict=True)) or [(), (), ()]
        learned.feed(array("I", columns[0]), array("I", columns[1]), array("Q", columns[2]))
        learned.drain()
        words = [Word("new" if name in made else "func_pre", name) for name in self.names]
        sites = [Site(*place) for place in self.sites]
        return LearnerView(learned, product, texts, words, sites, lambda *_: RuleState.ENFORCING, self.raising)

    def find(self, **options):
        view = self.view(**options)
        survey = view.window.survey(LOOSEST, False)
        found = anomalies.find(view, survey)
        assert anomalies.count(view, survey) == len(found)
        return found


def noise(world, rng, histories):
    """Containers as programs use them: any method after any other."""
    for _ in range(histories):
        kind = rng.choice(["list", "dict", "set"])
        file, line = rng.choice(["app.py", "tools.py", "web.py"]), rng.randrange(1000, 1100)
        calls = [rng.choice("add pop get sort copy clear".split()) for _ in range(rng.randrange(1, 8))]
        world.use(" ".join(f"{kind}.{call}:{line + index}" for index, call in enumerate(calls)), file)


def body(rng, line, *calls):
    return " ".join(f"{rng.choice(calls)}:{line + index}" for index in range(rng.randrange(1, 4)))


def missing_close(rng, line, good):
    middle = body(rng, line + 1, "f.read", "f.write")
    return f"f.open:{line} {middle}" + (f" f.close:{line + 5}" if good else "")


def swapped_order(rng, line, good):
    first, second = ("s.bind", "s.listen") if good else ("s.listen", "s.bind")
    return f"s.socket:{line} {first}:{line + 1} {second}:{line + 2} {body(rng, line + 3, 's.accept')}"


def missing_acquire(rng, line, good):
    start = f"l.acquire:{line} " if good else ""
    return f"{start}{body(rng, line + 1, 'l.owned', 'l.name')} l.release:{line + 5}"


def missing_flush(rng, line, good):
    flush = f" b.flush:{line + 4}" if good else ""
    return f"b.start:{line} {body(rng, line + 1, 'b.write')}{flush} b.send:{line + 5}"


FAULTS = [
    (missing_close, "f.close"),
    (swapped_order, "s.bind"),
    (missing_acquire, "l.acquire"),
    (missing_flush, "b.flush"),
]


@pytest.mark.parametrize(("fault", "event"), FAULTS, ids=[event for _, event in FAULTS])
def test_a_seeded_fault_comes_first(fault, event):
    false_alarms = 0
    for seed in range(12):
        rng = random.Random(seed)
        world = World(rng)
        places = [(rng.choice(["app.py", "web.py"]), 10 * place) for place in range(1, 13)]
        for _ in range(40):
            file, line = rng.choice(places)
            world.use(fault(rng, line, True), file)
        bad = world.use(fault(rng, 500, False))
        noise(world, rng, 120)
        best, *others = world.find()
        assert event in (best.rule.a.name, best.rule.b.name)
        assert [scene.object for scene in best.bad] == [bad]
        assert all(500 <= site.line < 510 and site.file == "app.py" for site in best.sites)
        assert f"`app.py:{best.sites[0].line}`" in best.message
        assert best.good is not None
        assert {best.rule.a.name, best.rule.b.name} <= {name for name, _ in best.good.events}
        false_alarms += len(others)
    assert false_alarms <= 1


@pytest.mark.parametrize("fault", [fault for fault, _ in FAULTS])
@pytest.mark.parametrize("seed", range(4))
def test_a_program_without_faults_yields_nothing(fault, seed):
    rng = random.Random(seed)
    world = World(rng)
    for _ in range(60):
        place = rng.randrange(1, 13)
        world.use(fault(rng, 10 * place, True))
    noise(world, rng, 200)
    assert world.find() == []


@pytest.mark.parametrize("names", [2, 3, 8, 30])
@pytest.mark.parametrize("longest", [2, 6, 20])
def test_chance_yields_nothing(names, longest):
    for seed in range(8):
        rng = random.Random(f"{seed} {names} {longest}")
        world = World(rng)
        for _ in range(400):
            history = [f"m{rng.randrange(names)}:{rng.randrange(20, 60)}" for _ in range(rng.randrange(1, longest + 1))]
            world.use(" ".join(history), rng.choice(["x.py", "y.py"]))
        assert world.find() == []


def protocol(world, places=8, each=5, start=10):
    for _ in range(each):
        for place in range(places):
            line = start + 10 * place
            world.use(f"open:{line} read:{line + 1} write:{line + 2} close:{line + 3}")


def test_one_cause_is_one_anomaly():
    world = World()
    protocol(world)
    bad = world.use("open:500 read:501 write:502")
    (found,) = world.find()
    assert found.message == "`open` is followed by `close` in 40 of 41 uses; not at `app.py:500`"
    assert {(rule.a.name, rule.b.name) for rule in found.others} == {("read", "close"), ("write", "close")}
    (scene,) = found.bad
    assert (scene.object, scene.count, scene.at_end) == (bad, 1, True)
    assert scene.events == (("open", Site("app.py", 500)),)


def test_the_same_rule_at_several_places_is_one_anomaly():
    world = World()
    protocol(world, places=20)
    world.use("open:500 read:501 write:502")
    world.use("open:600 read:601 write:602", "web.py")
    world.use("open:600 read:601 write:602", "web.py")
    (found,) = world.find()
    assert found.message == "`open` is followed by `close` in 100 of 103 uses; not at `app.py:500` and `web.py:600`"
    assert [scene.count for scene in found.bad] == [1, 2]


def test_two_causes_are_two_anomalies():
    world = World()
    protocol(world)
    world.use("open:500 read:501 write:502")
    for place in range(8):
        world.use(f"lock:{900 + 10 * place} unlock:{901 + 10 * place}")
    world.use("lock:700")
    assert [(found.rule.a.name, found.rule.b.name) for found in world.find()] == [("open", "close"), ("lock", "unlock")]


def test_the_good_use_is_the_nearest_one_in_the_same_file():
    world = World()
    for file in ("a.py", "b.py"):
        for line in (900, 300):
            for _ in range(5):
                world.use(f"open:{line} close:{line + 1}", file)
    world.use("open:290", "b.py")
    (found,) = world.find()
    assert found.good.events == (("open", Site("b.py", 300)), ("close", Site("b.py", 301)))
    assert found.good.count == 5


def test_the_good_use_shows_both_events_however_long_it_was():
    world = World()
    for line in range(100, 1000, 100):
        world.use(f"open:{line} {' '.join(f'read:{line + index}' for index in range(1, 15))} close:{line + 20}")
    world.use("open:5000 read:5001")
    (found,) = world.find()
    names = [name for name, _ in found.good.events]
    assert names == ["open", *["read"] * 6, "close"]
    assert [site.line % 100 for _, site in found.good.events] == [0, 9, 10, 11, 12, 13, 14, 20]


@pytest.mark.parametrize("close", [None, "app.py", "other.py"])
@pytest.mark.parametrize("trail", [True, False])
def test_an_event_out_of_the_windows_reach_is_not_missing(close, trail):
    world = World(size=4)
    for line in range(10, 200, 10):
        world.use(f"open:{line} close:{line + 1}")
    owner = world.use("open:500")
    stream = world.events()
    for number in range(10):
        # While something happens to the object, its trail goes on.
        stream.append((world.number("seek"), world.site(("app.py", 501)), owner if trail else 1000 + number))
    if close is not None:
        stream.append((world.number("close"), world.site((close, 503)), owner))
    world.events = lambda: stream  # type: ignore[method-assign]
    found = [anomaly.message for anomaly in world.find()]
    assert found == ([] if close else ["`open` is followed by `close` in 19 of 20 uses; not at `app.py:500`"])


def test_what_was_made_before_the_window_is_not_missing():
    def world():
        made = World()
        for line in range(10, 200, 10):
            made.use(f"Thread:{line} start:{line + 1}")
        made.use("start:500")
        return made

    assert [found.rule.a.name for found in world().find()] == ["Thread"]
    assert world().find(made=["Thread"]) == []


def test_a_call_that_raised_need_not_be_finished():
    def world():
        calls = World()
        for line in range(10, 90, 10):
            calls.use(f"connect:{line} close:{line + 1}")
        calls.use("connect:500")
        calls.use("other:1")
        return calls

    failing = world()
    assert len(failing.find()) == 1
    failing.raising = {(failing.number("connect"), failing.site(("app.py", 500))): [9]}
    assert failing.find() == []


def test_without_trails_and_places():
    world = World()
    protocol(world, places=1, each=1)
    for index in range(12):
        world.use(f"open:{index + 100} close:{index + 200}")
    world.use("close:600 open:601")
    view = world.view()
    view.window.pair = forgetful(view.window.pair)
    view.sites[:] = [Site(None, None) for _ in view.sites]
    (found,) = anomalies.find(view, view.window.survey(LOOSEST, False))
    assert found.message == "`open` comes before `close` in 13 of 14 uses; after it for object 14"
    assert [[name for name, _ in scene.events] for scene in found.bad] == [["close", "open"]]
    assert found.good is not None
    assert [name for name, _ in found.good.events] == ["open", "close"]


def forgetful(pair):
    def without(first, second):
        known = pair(first, second)
        if known is None:
            return None
        endings = [
            ending._replace(examples=tuple(example._replace(trail=()) for example in ending.examples))
            for ending in known.endings
        ]
        return Pair(known.first, known.second, known.created, tuple(endings), known.contexts)

    return without


def test_earlier_runs_count():
    def world(with_history):
        world = World()
        world.use("open:10 close:11")
        world.use("open:500")
        view = world.view()
        if with_history:
            kept, missing = 2, 0  # kinds: `ab`, and `a` alone
            assert PRODUCT.letters[kept] == 3 and PRODUCT.satisfied[kept] & 1 and PRODUCT.letters[missing] == 1
            places = [(1000 + place, PRODUCT.satisfied[kept]) for place in range(10)]
            view.window.remember(0, 1, [(kept, 400), (missing, 9)], places)
            view.sites.extend([Site("old.py", 1)] * 2000)
        return view

    view = world(False)
    assert anomalies.find(view, view.window.survey(LOOSEST, False)) == []
    view = world(True)
    (found,) = anomalies.find(view, view.window.survey(LOOSEST, False))
    assert found.message == "`open` is followed by `close` in 401 of 411 uses; not at `app.py:500`"


def test_counting_agrees_with_finding_on_random_programs():
    several = 0
    for seed in range(30):
        rng = random.Random(seed)
        world = World(rng)
        for fault, _ in FAULTS:
            places = rng.sample(range(1, 40), 9)
            for place in places * rng.randrange(1, 4):
                world.use(fault(rng, 10 * place, rng.random() < 0.97))
        found = world.find()  # which compares the two
        scores = [anomaly.score for anomaly in found]
        assert scores == sorted(scores, reverse=True)
        assert all(anomalies.BAR <= value <= 1 for value in scores)
        several += len(found) > 1
        view = world.view()
        for case in anomalies._cases(view, view.window.survey(LOOSEST, False).candidates, 0.0):
            counts = view.window.counts(*case.candidate[:2])
            assert case.score <= ranking.at_most(counts, case.candidate.rule, case.violation)
    assert several
