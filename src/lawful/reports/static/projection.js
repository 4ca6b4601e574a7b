// Events taken out of a picture: their arrows become silent, and what is left is made deterministic and minimal.
"use strict";

const lawfulProjection = (() => {
  const MOST_STATES = 2000; // sets of states can be many; a picture of so many would show nothing

  // A picture is {states, accepting, doomed, edges: [{source, letter, target, ...}]}, its initial state 0, every state on
  // the way from there to an accepting one. The result's edges have in `from` the numbers of the edges they stand for.
  // null: there are too many states.
  function project(picture, hidden) {
    const leaving = Array.from({ length: picture.states }, () => []);
    picture.edges.forEach((edge, number) => leaving[edge.source].push(number));
    const accepting = new Set(picture.accepting), doomed = new Set(picture.doomed);

    const closed = (states) => {
      const seen = new Set(states);
      for (const state of seen) { // which grows on the way
        for (const number of leaving[state]) {
          const edge = picture.edges[number];
          if (hidden.has(edge.letter)) seen.add(edge.target);
        }
      }
      return [...seen].sort((one, other) => one - other);
    };

    const sets = [closed([0])], known = new Map([[sets[0].join(), 0]]), rows = [];
    for (const set of sets) { // grows too
      const moves = new Map();
      for (const state of set) {
        for (const number of leaving[state]) {
          const edge = picture.edges[number];
          if (hidden.has(edge.letter)) continue;
          if (!moves.has(edge.letter)) moves.set(edge.letter, { targets: new Set(), from: [] });
          moves.get(edge.letter).targets.add(edge.target);
          moves.get(edge.letter).from.push(number);
        }
      }
      const row = new Map();
      for (const letter of [...moves.keys()].sort((one, other) => one - other)) {
        const { targets, from } = moves.get(letter);
        const next = closed(targets), name = next.join();
        if (!known.has(name)) {
          known.set(name, sets.length);
          sets.push(next);
          if (sets.length > MOST_STATES) return null;
        }
        row.set(letter, { target: known.get(name), from });
      }
      rows.push(row);
    }
    const accepts = sets.map((set) => set.some((state) => accepting.has(state)));
    return numbered(rows, classes(rows, accepts), accepts, sets.map((set) => set.every((state) => doomed.has(state))));
  }

  // For each state its class, such that states of one class accept the same words: classes are split until none is.
  function classes(rows, accepts) {
    let found = accepts.map(Number), count = new Set(found).size;
    for (;;) {
      const names = new Map();
      const next = rows.map((row, state) => {
        const name = `${found[state]}|${[...row].map(([letter, { target }]) => `${letter}:${found[target]}`).join()}`;
        if (!names.has(name)) names.set(name, names.size);
        return names.get(name);
      });
      found = next;
      if (names.size === count) return found;
      count = names.size;
    }
  }

  // The classes as states, numbered breadth-first from the initial one, letter by letter.
  function numbered(rows, classOf, accepts, dooms) {
    const members = new Map();
    classOf.forEach((name, state) => {
      if (!members.has(name)) members.set(name, []);
      members.get(name).push(state);
    });
    const order = [classOf[0]], place = new Map([[classOf[0], 0]]);
    const edges = [];
    for (const name of order) { // grows
      const states = members.get(name);
      for (const [letter, { target }] of rows[states[0]]) {
        const next = classOf[target];
        if (!place.has(next)) {
          place.set(next, order.length);
          order.push(next);
        }
        const from = [...new Set(states.flatMap((state) => rows[state].get(letter).from))];
        from.sort((one, other) => one - other);
        edges.push({ source: place.get(name), letter, target: place.get(next), from });
      }
    }
    const where = (marks) => [...order.keys()].filter((at) => members.get(order[at]).every((state) => marks[state]));
    return { states: order.length, accepting: where(accepts), doomed: where(dooms), edges };
  }

  return { project };
})();
