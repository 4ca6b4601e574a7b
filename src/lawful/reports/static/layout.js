// Where states and arrows go: `automaton_layers.py` and `automaton_layout.py`, function by function. A test compares them.
"use strict";

const lawfulLayout = (() => {
  const MARGIN = 10, LOOP = 24, START = 26, GAP = 14, LABEL_GAP = 4;
  const LAYER_GAP = 18, DRIFT = 5, STEEP = 0.16, WIDEST_GAP = 90, PORT = 0.22;
  const SWEEPS = 16, EFFORT = 24000, SWAPS = 6, SETTLING = 24, STRAIGHTENING = 8;

  const clamp = (low, high, value) => Math.max(low, Math.min(high, value));
  const sum = (values) => values.reduce((total, value) => total + value, 0);
  const lists = (count) => Array.from({ length: count }, () => []);
  const copied = (layers) => layers.map((layer) => layer.slice());

  class Graph {
    constructor() {
      Object.assign(this, { layer: [], size: [], before: [], after: [], left: [], right: [] });
    }
    add(layer, size, before, after) {
      this.layer.push(layer);
      this.size.push(size);
      this.before.push(before);
      this.after.push(after);
      this.left.push([]);
      this.right.push([]);
      return this.layer.length - 1;
    }
  }

  function turned(count, links, start) {
    const leaving = lists(count);
    links.forEach((link, number) => leaving[link.source].push(number));
    const found = links.map(() => false);
    const seen = Array(count).fill(false), open = Array(count).fill(false);
    for (const root of [start, ...Array(count).keys()]) {
      if (seen[root]) continue;
      seen[root] = open[root] = true;
      const path = [[root, 0]];
      while (path.length) {
        const step = path[path.length - 1];
        if (step[1] === leaving[step[0]].length) {
          open[step[0]] = false;
          path.pop();
          continue;
        }
        const number = leaving[step[0]][step[1]++];
        const target = links[number].target;
        if (open[target]) {
          found[number] = true;
        } else if (!seen[target]) {
          seen[target] = open[target] = true;
          path.push([target, 0]);
        }
      }
    }
    return found;
  }

  function ranks(count, links, back) {
    const after = lists(count), before = lists(count);
    links.forEach(({ source, target }, number) => {
      if (source === target) return;
      const [first, last] = back[number] ? [target, source] : [source, target];
      after[first].push(last);
      before[last].push(first);
    });
    const waiting = before.map((each) => each.length);
    const order = [...waiting.keys()].filter((node) => !waiting[node]);
    const found = Array(count).fill(0);
    for (const node of order) {
      for (const target of after[node]) {
        found[target] = Math.max(found[target], found[node] + 1);
        if (!--waiting[target]) order.push(target);
      }
    }
    for (const node of order.reverse()) {
      if (before[node].length && after[node].length > before[node].length) {
        found[node] = Math.min(...after[node].map((target) => found[target])) - 1;
      }
    }
    return found;
  }

  function firstOrder(graph, start, count) {
    const layers = lists(Math.max(...graph.layer) + 1);
    const seen = graph.layer.map(() => false);
    for (const root of [start, ...Array(count).keys()]) {
      const pending = [root];
      while (pending.length) {
        const node = pending.pop();
        if (seen[node]) continue;
        seen[node] = true;
        layers[graph.layer[node]].push(node);
        pending.push(...graph.right[node].slice().reverse());
      }
    }
    return layers;
  }

  function uncross(graph, layers) {
    const place = [];
    const renumber = (layer) => layer.forEach((node, at) => { place[node] = at; });
    layers.forEach(renumber);
    let best = copied(layers), fewest = crossings(graph, layers, place);
    const sweeps = Math.max(2, Math.min(SWEEPS, Math.floor(EFFORT / place.length)));
    for (let sweep = 0; sweep < sweeps && fewest; sweep++) {
      const forward = sweep % 2 === 0;
      const beside = forward ? graph.left : graph.right;
      for (const layer of forward ? layers.slice(1) : layers.slice(0, -1).reverse()) {
        const means = new Map(layer.map((node) => {
          const others = beside[node];
          return [node, others.length ? sum(others.map((other) => place[other])) / others.length : place[node]];
        }));
        layer.sort((one, other) => means.get(one) - means.get(other));
        renumber(layer);
      }
      swap(graph, layers, place);
      const found = crossings(graph, layers, place);
      if (found < fewest) [best, fewest] = [copied(layers), found];
    }
    return best;
  }

  function crossings(graph, layers, place) {
    let total = 0;
    for (const layer of layers) {
      const met = [];
      for (const node of layer) {
        const ends = graph.right[node].map((other) => place[other]);
        for (const end of ends) total += met.filter((other) => other > end).length;
        met.push(...ends);
      }
    }
    return total;
  }

  function swap(graph, layers, place) {
    for (let turn = 0; turn < SWAPS; turn++) {
      let better = false;
      for (const layer of layers) {
        for (let at = 0; at + 1 < layer.length; at++) {
          const one = layer[at], other = layer[at + 1];
          if (between(graph, other, one, place) < between(graph, one, other, place)) {
            [layer[at], layer[at + 1]] = [other, one];
            [place[one], place[other]] = [at + 1, at];
            better = true;
          }
        }
      }
      if (!better) return;
    }
  }

  function between(graph, one, other, place) {
    let total = 0;
    for (const beside of [graph.left, graph.right]) {
      for (const end of beside[one]) {
        for (const endOther of beside[other]) total += place[end] > place[endOther];
      }
    }
    return total;
  }

  function coordinates(graph, layers, count) {
    const across = graph.layer.map(() => 0);
    for (const layer of layers) spread(graph, layer, layer.map(() => [0, 1]), across);
    const backwards = layers.slice().reverse();
    for (let turn = 0; turn < SETTLING; turn++) {
      for (const side of turn < SETTLING / 2 ? [graph.left, graph.right] : [null]) {
        for (const layer of side === graph.right ? backwards : layers) {
          const wishes = layer.map((node) => {
            const others = side === null ? graph.left[node].concat(graph.right[node]) : side[node];
            let pull = 0, at = 0;
            for (const other of others) {
              const weight = Math.min(node, other) < count ? 2 : 8;
              pull += weight;
              at += weight * across[other];
            }
            return pull ? [at / pull, pull] : [across[node], 0.1];
          });
          spread(graph, layer, wishes, across);
        }
      }
    }
    straighten(graph, layers, across);
    return across;
  }

  function spread(graph, layer, wishes, across) {
    const offsets = [], blocks = [];
    let offset = 0;
    layer.forEach((node, at) => {
      if (at) offset += graph.after[layer[at - 1]] + GAP + graph.before[node];
      offsets.push(offset);
      let [mean, weight] = wishes[at], size = 1;
      mean -= offset;
      while (blocks.length && blocks[blocks.length - 1][0] > mean) {
        const [other, otherWeight, otherSize] = blocks.pop();
        mean = (mean * weight + other * otherWeight) / (weight + otherWeight);
        weight += otherWeight;
        size += otherSize;
      }
      blocks.push([mean, weight, size]);
    });
    let at = 0;
    for (const [mean, , size] of blocks) {
      for (const end = at + size; at < end; at++) across[layer[at]] = mean + offsets[at];
    }
  }

  function straighten(graph, layers, across) {
    const room = roomOf(graph, layers, across);
    const runs = [];
    const lay = (run, wish, low, high) => {
      const place = clamp(low, high, wish);
      for (const node of run) across[node] = place;
    };
    for (let path of paths(graph)) {
      while (path.length) {
        const [low, high, size] = room(path);
        const run = path.slice(0, size);
        path = path.slice(size);
        lay(run, sum(run.map((node) => across[node])) / size, low, high);
        runs.push(run);
      }
    }
    const backwards = runs.slice().reverse();
    for (let turn = 0; turn < STRAIGHTENING; turn++) {
      for (const run of turn % 2 === 0 ? runs : backwards) {
        const ends = graph.left[run[0]].concat(graph.right[run[run.length - 1]]);
        const [low, high, size] = room(run);
        if (!ends.length || size < run.length) continue;
        lay(run, sum(ends.map((node) => across[node])) / ends.length, low, high);
      }
    }
  }

  function paths(graph) {
    const alone = graph.left.map((left) => left.length === 1 && graph.right[left[0]].length === 1);
    const found = [];
    alone.forEach((continues, first) => {
      if (continues) return;
      const path = [first];
      for (let next = graph.right[first]; next.length === 1 && alone[next[0]]; next = graph.right[next[0]]) {
        path.push(next[0]);
      }
      found.push(path);
    });
    return found;
  }

  function roomOf(graph, layers, across) {
    const above = [], below = [];
    for (const layer of layers) {
      for (let at = 1; at < layer.length; at++) {
        below[layer[at - 1]] = layer[at];
        above[layer[at]] = layer[at - 1];
      }
    }
    return (path) => {
      let low = -Infinity, high = Infinity;
      for (const [at, node] of path.entries()) {
        const up = above[node], down = below[node];
        const least = up === undefined ? -Infinity : across[up] + graph.after[up] + GAP + graph.before[node];
        const most = down === undefined ? Infinity : across[down] - graph.before[down] - GAP - graph.after[node];
        if (at && Math.max(low, least) > Math.min(high, most) + 1e-6) return [low, high, at];
        low = Math.max(low, least);
        high = Math.min(high, most);
      }
      return [low, high, path.length];
    };
  }

  // Places `count` circles and the links {source, target, width, height}; `down` or to the right.
  function layered(count, links, radius, start, down) {
    const graph = new Graph();
    const back = turned(count, links, start);
    for (const rank of ranks(count, links, back)) graph.add(2 * rank, 2 * radius, radius, radius);
    const looped = new Set();
    const opposite = links.map(({ source, target }) => {
      const second = source === target && looped.has(source);
      if (source === target) looped.add(source);
      return second;
    });
    const chains = links.map((link, number) => chainOf(link, back[number]));
    links.forEach((link, number) => {
      if (link.source === link.target) makeRoom(link, opposite[number]);
    });
    const layers = uncross(graph, firstOrder(graph, start, count));
    let across = coordinates(graph, layers, count);
    const half = layers.map((layer) => Math.max(...layer.map((node) => graph.size[node])) / 2);
    const along = lengthwise();
    const low = Math.min(...across.map((at, node) => at - graph.before[node])) - MARGIN;
    const high = Math.max(...across.map((at, node) => at + graph.after[node])) + MARGIN;
    across = across.map((at) => at - low);
    const point = (lengthways, crossways) => (down ? [crossways, lengthways] : [lengthways, crossways]);
    const middleOf = (node) => along[graph.layer[node]];
    const length = along[along.length - 1] + half[half.length - 1] + MARGIN, breadth = high - low;
    const begin = middleOf(start) - radius;
    return {
      width: down ? breadth : length,
      height: down ? length : breadth,
      centres: Array.from({ length: count }, (_, node) => point(middleOf(node), across[node])),
      routes: links.map((link, number) => (chains[number] ? route(link, chains[number]) : loop(link, opposite[number]))),
      start: [point(begin - START, across[start]), point(begin, across[start])],
    };

    function chainOf(link, goesBack) {
      if (link.source === link.target) return null;
      const [first, last] = goesBack ? [link.target, link.source] : [link.source, link.target];
      const from = graph.layer[first], to = graph.layer[last];
      const middle = from + 2 * Math.floor((to - from - 2) / 4) + 1;
      const nodes = [first];
      let label = first;
      for (let layer = from + 1; layer < to; layer++) {
        if (layer !== middle) {
          nodes.push(graph.add(layer, 0, 3, 3));
          continue;
        }
        label = down
          ? graph.add(layer, link.height, 3, link.width + LABEL_GAP)
          : graph.add(layer, link.width + 8, link.height + LABEL_GAP, 3);
        nodes.push(label);
      }
      nodes.push(last);
      for (let at = 1; at < nodes.length; at++) {
        graph.right[nodes[at - 1]].push(nodes[at]);
        graph.left[nodes[at]].push(nodes[at - 1]);
      }
      return { nodes, goesBack, label };
    }

    function makeRoom(link, second) {
      const sides = second !== down ? graph.after : graph.before, at = link.source;
      const [wide, long] = down ? [link.width, link.height] : [link.height, link.width];
      sides[at] = Math.max(sides[at], radius + LOOP + LABEL_GAP + wide);
      graph.size[at] = Math.max(graph.size[at], long);
    }

    function lengthwise() {
      const found = [MARGIN + Math.max(half[0], radius + START)];
      for (let at = 1; at < half.length; at++) {
        let steepest = 0;
        for (const node of layers[at]) {
          for (const other of graph.left[node]) steepest = Math.max(steepest, Math.abs(across[node] - across[other]));
        }
        found.push(found[at - 1] + half[at - 1] + Math.min(WIDEST_GAP, LAYER_GAP + STEEP * steepest) + half[at]);
      }
      return found;
    }

    function route(link, { nodes, goesBack, label }) {
      const stops = [], last = nodes.length - 1;
      nodes.forEach((node, at) => {
        const middle = middleOf(node), reach = half[graph.layer[node]], line = across[node];
        if (at === 0 || at === last) {
          const side = at === 0 ? 1 : -1;
          const aim = across[nodes[at === 0 ? 1 : last - 1]] - line;
          const port = clamp(-0.65, 0.65, (aim * PORT) / radius) * radius;
          const edge = [middle + side * Math.sqrt(radius * radius - port * port), line + port, 0];
          const band = [middle + side * reach, line + port, 0];
          stops.push(...(at === 0 ? [edge, band] : [band, edge]));
        } else {
          const steep = node === label ? 0 : slope(nodes[at - 1], node, nodes[at + 1]);
          stops.push([middle - reach, line - steep * reach, steep], [middle + reach, line + steep * reach, steep]);
        }
      });
      const points = [[stops[0][0], stops[0][1]]];
      for (let at = 1; at < stops.length; at++) {
        const [x0, y0, steep0] = stops[at - 1], [x1, y1, steep1] = stops[at];
        if (x1 - x0 <= 1e-9) continue;
        const reach = (x1 - x0) / 2;
        points.push([x0 + reach, y0 + steep0 * reach], [x1 - reach, y1 - steep1 * reach], [x1, y1]);
      }
      if (goesBack) points.reverse();
      return { points: points.map((each) => point(...each)), label: beside(link, middleOf(label), across[label], false) };
    }

    function slope(before, node, after) {
      const layer = graph.layer[node], at = across[node], middle = along[layer];
      const one = (at - across[before]) / (middle - along[layer - 1]);
      const other = (across[after] - at) / (along[layer + 1] - middle);
      if (one * other <= 0) return 0;
      const most = Math.min(Math.abs(one), Math.abs(other), DRIFT / Math.max(1, half[layer]));
      return one > 0 ? most : -most;
    }

    function beside(link, lengthways, line, second) {
      const away = LABEL_GAP + (down ? link.width : link.height) / 2;
      return down ? [second ? line - away : line + away, lengthways] : [lengthways, second ? line + away : line - away];
    }

    function loop(link, second) {
      const lengthways = middleOf(link.source), crossways = across[link.source];
      const side = second !== down ? 1 : -1;
      const near = radius * 0.6, far = radius * 1.3, close = radius * 0.8;
      const top = close + ((radius + LOOP - close) * 4) / 3;
      const places = [[-near, close], [-far, top], [far, top], [near, close]];
      return {
        points: places.map(([ahead, out]) => point(lengthways + ahead, crossways + side * out)),
        label: beside(link, lengthways, crossways + side * (radius + LOOP), second),
      };
    }
  }

  return { layered };
})();
