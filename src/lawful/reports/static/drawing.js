// Pictures as trees of elements, the same as `automaton_svg.py` writes them. Texts stay texts: nothing is read as markup.
"use strict";

const lawfulDrawing = (() => {
  const INK = "#222222", BAD = "#b3261e";
  const FILLS = { plain: "#ffffff", lost: "#e3e3e3", bad: "#f6d5d5" };
  const fixed = (value) => value.toFixed(1);
  const element = (name, attributes, children = []) => ({ name, attributes, children });

  // The edges that are drawn as one arrow: between the same states, both bold or not, both errors or not.
  function grouped(edges, dominating, failing) {
    const groups = new Map();
    for (const edge of edges) {
      const bold = dominating.has(edge.letter), bad = failing.has(edge.letter);
      const name = `${edge.source} ${edge.target} ${bold} ${bad}`;
      if (!groups.has(name)) groups.set(name, { source: edge.source, target: edge.target, bold, bad, edges: [] });
      groups.get(name).edges.push(edge);
    }
    return [...groups.values()];
  }

  // Names in lines that are not too long, and how wide they are.
  function labelOf(group, events, sizes) {
    const lines = [];
    for (const { letter } of group.edges) {
      const { shown, units } = events[letter], size = [...shown].length;
      const last = lines[lines.length - 1];
      if (last && last.size + size + 2 <= sizes.listed) {
        last.text += `, ${shown}`;
        last.size += size + 2;
        last.units += units + sizes.comma + sizes.blank;
      } else {
        if (last) {
          last.text += ",";
          last.units += sizes.comma;
        }
        lines.push({ text: shown, size, units });
      }
    }
    if (lines.length > sizes.lines) {
      const text = `… ${group.edges.length} events in all`;
      lines.splice(sizes.lines - 1, lines.length, { text, units: text.length * sizes.digit });
    }
    const width = sizes.letters * Math.max(...lines.map((line) => line.units)) * (group.bold ? 1.1 : 1.04);
    return { lines: lines.map((line) => line.text), width, height: sizes.line * lines.length };
  }

  // data: {events, sizes, role, title, note}; detail(edge): what a pointer shows.
  function svg(picture, groups, data, detail) {
    const { events, sizes } = data;
    const accepting = new Set(picture.accepting), doomed = new Set(picture.doomed);
    const labels = groups.map((group) => labelOf(group, events, sizes));
    const names = Array.from({ length: picture.states }, (_, state) => (doomed.has(state) ? `${state} D` : `${state}`));
    const nameWidth = (name) => {
      const marked = name.endsWith("D");
      const units = sizes.digit * (name.length - (marked ? 2 : 0)) + (marked ? sizes.blank + sizes.mark : 0);
      return sizes.letters * units * 1.04;
    };
    const radius = Math.max(sizes.radius, ...names.map((name) => nameWidth(name) / 2 + 7));
    const links = groups.map(({ source, target }, at) => ({ source, target, ...labels[at] }));
    let layout = lawfulLayout.layered(picture.states, links, radius, 0, false);
    if (layout.width > sizes.widest) {
      const down = lawfulLayout.layered(picture.states, links, radius, 0, true);
      if (down.width < layout.width) layout = down;
    }
    const children = groups.map((group, at) => {
      const details = group.edges.map(detail);
      return arrow(at, group, labels[at], layout.routes[at], details, sizes);
    });
    children.push(startArrow(layout.start));
    for (const [state, centre] of layout.centres.entries()) {
      const [ends, lost] = [accepting.has(state), doomed.has(state)];
      const role = ends ? data.role : lost ? "lost" : "plain";
      children.push(stateOf(state, names[state], { centre, radius, role, accepting: ends, doomed: lost, note: data.note, sizes }));
    }
    const wide = layout.width.toFixed(0), high = layout.height.toFixed(0);
    return element("svg", {
      xmlns: "http://www.w3.org/2000/svg", class: "lawful-automaton", width: wide, height: high,
      viewBox: `0 0 ${wide} ${high}`, role: "group", "aria-label": data.title, "font-family": sizes.family, fill: INK,
    }, children);
  }

  function arrow(number, group, label, route, details, sizes) {
    const spoken = `from state ${group.source} to state ${group.target}: ${label.lines.join(" ")}`;
    const path = curve(route.points), tip = route.points[route.points.length - 1];
    const ink = group.bad ? BAD : INK, filled = group.bad ? { fill: BAD } : {};
    return element("g", {
      class: `edge${group.bold ? " bold" : ""}${group.bad ? " bad" : ""}`, "data-edge": `${number}`, tabindex: "0", role: "button",
      "aria-label": spoken,
    }, [
      element("title", {}, [details.join("\n")]),
      element("path", { class: "reach", d: path, fill: "none", stroke: "transparent", "stroke-width": "14" }),
      element("path", { class: "line", d: path, fill: "none", stroke: ink, "stroke-width": group.bold ? "2.8" : "1.3" }),
      element("path", { class: "tip", d: head(route.points[route.points.length - 2], tip, group.bold ? 10 : 8), ...filled }),
      text(label.lines, route.label, group.bold, sizes),
    ]);
  }

  function startArrow([from, to]) {
    const line = `M${fixed(from[0])} ${fixed(from[1])}L${fixed(to[0])} ${fixed(to[1])}`;
    return element("g", { class: "edge start" }, [
      element("path", { class: "line", d: line, stroke: INK, "stroke-width": "1.3" }),
      element("path", { class: "tip", d: head(from, to, 7) }),
    ]);
  }

  function stateOf(state, name, { centre, radius, role, accepting, doomed, note, sizes }) {
    const notes = [`state ${state}`];
    if (state === 0) notes.push("the words begin here");
    if (accepting) notes.push("the words end here");
    else if (doomed) notes.push(note);
    const circle = (size) => element("circle", {
      cx: fixed(centre[0]), cy: fixed(centre[1]), r: fixed(size), fill: FILLS[role], stroke: INK, "stroke-width": "1.3",
    });
    return element("g", { class: `state${accepting ? " accepting" : ""} ${role}`, "data-state": `${state}` }, [
      element("title", {}, [notes.join(", ")]),
      circle(radius),
      ...(accepting ? [circle(radius - 3.5)] : []),
      text([name], centre, false, sizes),
    ]);
  }

  function text(lines, centre, bold, sizes) {
    const { letters, line } = sizes;
    const x = fixed(centre[0]), first = centre[1] - (line * (lines.length - 1)) / 2 + letters * 0.35;
    const attributes = { x, y: fixed(first), "font-size": `${letters}`, "text-anchor": "middle" };
    if (bold) attributes["font-weight"] = "bold";
    if (lines.length === 1) return element("text", attributes, lines);
    const spans = lines.map((each, at) => element("tspan", { x, y: fixed(first + line * at) }, [each]));
    return element("text", attributes, spans);
  }

  function curve(points) {
    const parts = [`M${fixed(points[0][0])} ${fixed(points[0][1])}`];
    for (let at = 1; at < points.length; at += 3) {
      parts.push(`C${points.slice(at, at + 3).map(([x, y]) => `${fixed(x)} ${fixed(y)}`).join(" ")}`);
    }
    return parts.join("");
  }

  function head(before, tip, size) {
    let dx = tip[0] - before[0], dy = tip[1] - before[1];
    const length = Math.sqrt(dx * dx + dy * dy) || 1;
    [dx, dy] = [(dx / length) * size, (dy / length) * size];
    const back = [tip[0] - dx, tip[1] - dy];
    return `M${fixed(tip[0])} ${fixed(tip[1])}L${fixed(back[0] - dy * 0.42)} ${fixed(back[1] + dx * 0.42)}`
      + `L${fixed(back[0] + dy * 0.42)} ${fixed(back[1] - dx * 0.42)}Z`;
  }

  // A tree as elements of a page.
  function toDom(tree) {
    if (typeof tree === "string") return document.createTextNode(tree);
    const made = document.createElementNS("http://www.w3.org/2000/svg", tree.name);
    for (const [name, value] of Object.entries(tree.attributes)) if (name !== "xmlns") made.setAttribute(name, value);
    made.append(...tree.children.map(toDom));
    return made;
  }

  return { grouped, svg, toDom };
})();
