"""Learn from one trace in several ways at once: without a store, and with each that is named. The answers are JSON.

With `teach`, add it to a store instead, as a run of the program does.
"""

import json
import sys

from lawful.engine.learner_setup import LearningHistory
from lawful.events.reader import open_trace
from lawful.learning.learned_json import anomaly_json
from lawful.learning.learner import Learner
from lawful.learning.parameters import Learning
from lawful.reports.sources import SourceLines


def functions(told):
    """In which function a line of the program is; `changed` is a folder with the files that are not as in `folder`."""
    source, changed = SourceLines(told["folder"]), SourceLines(told.get("changed") or told["folder"])
    return lambda file, line: (changed if changed.line(file, 1) is not None else source).function(file, line)


def main(trace, told):
    told = json.loads(told)
    joins = frozenset(filter(None, told.get("joins", "").split(",")))
    stores = {"teach": told["teach"]} if "teach" in told else told["stores"]
    learners, memories = {}, {}
    for name, path in stores.items():
        learners[name] = Learner(Learning(joins=joins, all_rules=path is not None))  # as the command does
        if path is not None:
            memories[name] = LearningHistory(path, functions(told))
            memories[name].recall(learners[name])
    with open_trace(trace) as reader:
        for batch in reader.batches():
            for learner in learners.values():
                learner.feed(batch, reader.name)
    answers = {}
    for name, learner in learners.items():
        learner.finish()
        found = learner.anomalies()
        answers[name] = {
            "events": learner.events,
            "anomalies": [anomaly_json(each, learner.numbering) for each in found],
            "known": len(found.known),
        }
    if "teach" in told:
        memories["teach"].keep(learners["teach"])
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
