"""Learn from one trace in several ways at once: without a store, and with each that is named. The answers are JSON."""

import json
import sys

from lawful.events.reader import open_trace
from lawful.learning.learner import Learner
from lawful.learning.parameters import Parameters
from lawful.learning.store import Store


def main(trace, told):
    told = json.loads(told)
    joins = frozenset(filter(None, told["joins"].split(",")))
    learners = {}
    for name, path in told["stores"].items():
        parameters = Parameters(joins=joins, all_rules=path is not None)  # as the command does
        learner = learners[name] = Learner(parameters)
        if path is not None:
            with Store(path) as store:
                learner.remember(store.known(parameters.templates))
                learner.remember_lives(store.lives())
    with open_trace(trace) as reader:
        for batch in reader.batches():
            for learner in learners.values():
                learner.feed(batch, reader.name)
    answers = {}
    for name, learner in learners.items():
        learner.finish()
        found = learner.anomalies()
        answers[name] = {"events": learner.events, "anomalies": [learner.anomaly_json(each) for each in found]}
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
