"use strict";
// Draws the findings and the rules out of the page's own data. Whatever comes from the program is text, never markup.
(() => {
  const data = JSON.parse(document.getElementById("lawful-data").textContent);
  const SVG = "http://www.w3.org/2000/svg";
  const STEP = 100;
  const number = new Intl.NumberFormat("en");
  const byId = (id) => document.getElementById(id);

  function el(name, attributes = {}, ...children) {
    return fill(document.createElement(name), attributes, children);
  }

  function draw(name, attributes = {}, ...children) {
    return fill(document.createElementNS(SVG, name), attributes, children);
  }

  function fill(node, attributes, children) {
    for (const [key, value] of Object.entries(attributes)) {
      if (value !== undefined && value !== null && value !== false) node.setAttribute(key, value === true ? "" : value);
    }
    node.append(...children.filter((child) => child !== null && child !== undefined));
    return node;
  }

  const place = (file, line) => (file ? (line ? `${file}:${line}` : file) : "");
  const cut = (text, most) => (text.length <= most ? text : `${text.slice(0, most - 1)}…`);
  const sourceLine = (file, line) => (data.files[file] || {})[line];

  // -- one finding ------------------------------------------------------------------------------

  function excerpt(finding) {
    const lines = data.files[finding.file];
    if (!lines || lines[finding.line] === undefined) return null;
    const rows = [];
    for (let at = finding.line - 3; at <= finding.line + 3; at++) {
      if (lines[at] === undefined) continue;
      const hit = at === finding.line;
      rows.push(el("span", { class: hit ? "row hit" : "row", "data-line": at }, `${lines[at]}\n`));
    }
    const title = `Source of ${place(finding.file, finding.line)}`;
    return [
      el("h4", {}, finding.function ? `Source, in ${finding.function}` : "Source"),
      el("pre", { class: "source", tabindex: 0, "aria-label": title }, el("code", {}, ...rows)),
    ];
  }

  function eventItem(event, first) {
    const words = el("span", event.bad ? { class: "bad" } : {}, event.bad ? `${event.text} ← here` : event.text);
    const more = [place(event.file, event.line)];
    if (event.time !== undefined) {
      more.push(first === undefined || event.time === first ? `${event.time} s` : `+${(event.time - first).toFixed(6)} s`);
    }
    if (event.number) more.push(`event ${number.format(event.number)}`);
    if (event.thread) more.push(`thread ${event.thread}`);
    const line = sourceLine(event.file, event.line);
    return el(
      "li", {}, words, " ", el("small", {}, more.filter(Boolean).join(", ")),
      line ? el("code", { class: "line" }, line.trim()) : null,
    );
  }

  // Where the events are in time, a line for each object. The list below says the same in words.
  function timeline(events) {
    const times = events.map((event) => event.time);
    const timed = times.every((time) => time !== undefined);
    const known = timed && times[times.length - 1] > times[0];
    const targets = [...new Set(events.map((event) => event.target ?? ""))];
    const left = 120, width = 800, right = 24, top = 16, lane = 34;
    const height = top + lane * targets.length + 26;
    const span = known ? times[times.length - 1] - times[0] : Math.max(1, events.length - 1);
    // In time as far as numbers do not cover each other.
    const places = [];
    events.forEach((event, at) => {
      const share = (known ? event.time - times[0] : at) / span;
      const x = left + share * (width - left - right);
      const before = at ? places[at - 1] + 22 : left;
      places.push(Math.max(x, before));
    });
    const over = places.length ? Math.max(0, places[places.length - 1] - (width - right)) : 0;
    const squeeze = over ? (width - left - right) / (places[places.length - 1] - left) : 1;
    const picture = draw("svg", { class: "drawn", viewBox: `0 0 ${width} ${height}`, width, height, role: "img",
      "aria-label": `Time line of ${events.length} events; the list that follows tells them in words.` });
    targets.forEach((target, row) => {
      const y = top + lane * (row + 0.5);
      picture.append(
        draw("line", { class: "lane", x1: left - 12, x2: width - 8, y1: y, y2: y }),
        draw("text", { x: left - 20, y: y + 4, "text-anchor": "end" }, target === "" ? "no object" : cut(`object ${target}`, 16)),
      );
    });
    events.forEach((event, at) => {
      const y = top + lane * (targets.indexOf(event.target ?? "") + 0.5);
      const x = left + (places[at] - left) * squeeze;
      const bad = event.bad ? " bad" : "";
      picture.append(draw("g", {},
        draw("title", {}, event.text),
        event.bad
          ? draw("path", { class: "dot bad", d: `M${x} ${y - 13}L${x + 13} ${y}L${x} ${y + 13}L${x - 13} ${y}Z` })
          : draw("circle", { class: `dot${bad}`, cx: x, cy: y, r: 10 }),
        draw("text", { class: "inside", x, y: y + 4, "text-anchor": "middle" }, String(at + 1)),
      ));
    });
    const apart = known ? `${times[0]} s to ${times[times.length - 1]} s` : `all at ${times[0]} s, in order`;
    const scale = timed ? apart : "in order; the events tell no time";
    picture.append(draw("text", { class: "dim", x: left, y: height - 8 }, scale));
    return el("figure", { class: "wide" }, picture);
  }

  // Who calls whom: threads to the left, objects to the right.
  function sequenceOf(events) {
    const threads = [...new Set(events.map((event) => event.thread ?? 0))];
    const targets = [...new Set(events.map((event) => event.target ?? ""))];
    if (targets.length > 8 || threads.length > 8) return null;
    const names = [
      ...threads.map((thread) => (thread ? `thread ${thread}` : "the program")),
      ...targets.map((target) => (target === "" ? "no object" : `object ${target}`)),
    ];
    const gap = Math.max(170, Math.min(420, 760 / Math.max(1, names.length - 1)));
    const left = 70, width = left * 2 + gap * (names.length - 1), row = 34, top = 52;
    const height = top + row * events.length + 14;
    const x = (at) => left + gap * at;
    const picture = draw("svg", { class: "drawn", viewBox: `0 0 ${width} ${height}`, width, height, role: "img",
      "aria-label": "Sequence diagram of the same events." });
    names.forEach((name, at) => picture.append(
      draw("line", { class: "lane", x1: x(at), x2: x(at), y1: 34, y2: height - 4 }),
      draw("rect", { class: "box", x: x(at) - 60, y: 8, width: 120, height: 26, rx: 5 }),
      draw("text", { x: x(at), y: 26, "text-anchor": "middle" }, cut(name, 17)),
    ));
    events.forEach((event, at) => {
      const from = x(threads.indexOf(event.thread ?? 0));
      const to = x(threads.length + targets.indexOf(event.target ?? ""));
      const y = top + row * at + 14;
      const back = event.kind === "func_post" || event.kind === "func_raise" || event.kind === "yield";
      const [start, end] = back ? [to, from] : [from, to];
      const way = end > start ? 1 : -1;
      const bad = event.bad ? " bad" : "";
      const label = cut(event.text.replace(/ on object \S+/, ""), Math.floor(Math.abs(end - start) / 6.6));
      picture.append(draw("g", {},
        draw("title", {}, event.text),
        draw("path", { class: `call${bad}`, d: `M${start} ${y}H${end - 7 * way}`, "stroke-dasharray": back ? "5 3" : null }),
        draw("path", { class: `tip${bad}`, d: `M${end} ${y}l${-9 * way} -4.5v9Z` }),
        draw("text", { class: bad ? "bad" : null, x: (start + end) / 2, y: y - 5, "text-anchor": "middle" }, `${at + 1} ${label}`),
      ));
    });
    return el("figure", { class: "wide" }, picture);
  }

  function history(finding) {
    const events = (finding.events || []).map((at) => ({ ...data.events[at] }));
    if (!events.length) return null;
    if (finding.broke) events[events.length - 1].bad = true;
    const sequence = finding.diagram ? null : sequenceOf(events);
    return [
      el("h4", {}, "What led there"),
      events.length > 1 ? timeline(events) : null,
      el("ol", { class: "events" }, ...events.map((event) => eventItem(event, events[0].time))),
      finding.note ? el("p", { class: "keys" }, finding.note) : null,
      sequence && events.length > 1 ? el("details", {}, el("summary", {}, "As a sequence diagram"), sequence) : null,
    ];
  }

  function scene(title, kind, shown) {
    const items = shown.events.map(([name, file, line]) => {
      const text = sourceLine(file, line);
      return el("li", {}, name, " ", el("small", {}, place(file, line)), text ? el("code", { class: "line" }, text.trim()) : null);
    });
    const notes = [];
    if (shown.count > 1) notes.push(`${number.format(shown.count)} times from this place`);
    if (shown.cut) notes.push("cut off by the end of the trace");
    return el("div", { class: `side ${kind}` }, el("h4", {}, title), el("ol", { class: "events" }, ...items),
      notes.length ? el("p", { class: "keys" }, notes.join("; ")) : null);
  }

  function uses(finding) {
    if (!finding.bad) return null;
    const sides = [...finding.bad.map((each) => scene("Not here", "bad", each))];
    if (finding.good) sides.splice(1, 0, scene("As here", "good", finding.good));
    return [el("h4", {}, "Bad and good use, side by side"), el("div", { class: "sides" }, ...sides)];
  }

  function lawText(finding) {
    const source = data.laws[finding.law];
    if (source === undefined || !finding.spans) return null;
    const letters = Array.from(source);  // places count whole characters
    const parts = [];
    let at = 0;
    for (const [start, end, kind] of finding.spans) {
      parts.push(letters.slice(at, start).join(""), el("mark", { class: kind }, letters.slice(start, end).join("")));
      at = end;
    }
    parts.push(letters.slice(at).join(""));
    const kinds = new Set(finding.spans.map((span) => span[2]));
    const legend = [];
    if (kinds.has("refused")) legend.push(el("span", {}, el("mark", { class: "refused" }, "solid frame"), " the event that was refused"));
    if (kinds.has("expected")) legend.push(el("span", {}, el("mark", { class: "expected" }, "dashed frame"), " what was expected"));
    return [
      el("h4", {}, "The law"),
      el("pre", { class: "law-text", tabindex: 0, "aria-label": `Text of ${finding.law}` }, el("code", {}, ...parts)),
      el("p", { class: "keys legend" }, ...legend),
    ];
  }

  function diagram(finding) {
    if (!finding.diagram) return null;
    const source = `data:image/svg+xml,${encodeURIComponent(finding.diagram)}`;
    return [el("h4", {}, "The messages"), el("figure", { class: "wide", tabindex: 0 },
      el("img", { class: "picture", src: source, alt: `Sequence diagram: ${finding.message}` }))];
  }

  function panel(finding) {
    const facts = [...finding.facts, ["known by", finding.id]];
    return [
      el("dl", { class: "facts" }, ...facts.map(([label, text]) => el("div", {}, el("dt", {}, label), el("dd", {}, text)))),
      ...[excerpt, uses, history, diagram, lawText].flatMap((part) => part(finding) || []),
    ];
  }

  function entry(finding, at) {
    const id = `finding-${at}`;
    const where = [finding.law, place(finding.file, finding.line) || finding.trace || "", finding.function || ""];
    const button = el("button", { type: "button", "aria-expanded": "false", "aria-controls": id },
      el("span", { class: `badge ${finding.kind}` }, finding.kind),
      el("span", { class: "what" }, finding.message),
      el("span", { class: "times" }, finding.count > 1 ? `${number.format(finding.count)}×` : ""),
      el("span", { class: "where" }, where.filter(Boolean).join(" · ")));
    const body = el("div", { id, class: "panel", hidden: true });
    button.addEventListener("click", () => {
      if (!body.hasChildNodes()) body.append(...panel(finding).filter(Boolean));
      body.hidden = !body.hidden;
      button.setAttribute("aria-expanded", String(!body.hidden));
      const text = body.querySelector(".law-text"), mark = text && text.querySelector("mark");
      if (mark) text.scrollTop = mark.offsetTop - text.offsetTop - 40;
    });
    return el("li", {}, el("h3", {}, button), body);
  }

  // -- lists that grow as they are read ---------------------------------------------------------

  function growing(target, more, status, total, noun, make) {
    let shown = [], until = 0;
    const show = () => {
      const from = until;
      until = Math.min(shown.length, until + STEP);
      target.append(...shown.slice(from, until).map((each) => make(each)));
      more.hidden = until >= shown.length;
      more.textContent = `Show ${Math.min(STEP, shown.length - until)} more`;
      const rest = until < shown.length ? `, the first ${number.format(until)} are shown` : "";
      const part = shown.length < total ? `${number.format(shown.length)} of ` : "";
      status.textContent = `${part}${number.format(total)} ${noun}${total === 1 ? "" : "s"}${rest}`;
    };
    more.addEventListener("click", () => {
      const last = target.lastElementChild;
      show();
      const next = last && last.nextElementSibling && last.nextElementSibling.querySelector("button");
      if (next) next.focus();
    });
    return (items) => {
      shown = items;
      until = 0;
      target.replaceChildren();
      show();
    };
  }

  const later = (work) => {
    let timer = 0;
    return () => { clearTimeout(timer); timer = setTimeout(work, 120); };
  };

  function findings() {
    const all = data.findings;
    if (!all.length) return;
    const list = byId("findings"), filter = byId("findings-filter"), law = byId("findings-law"), order = byId("findings-order");
    const at = new Map(all.map((finding, index) => [finding, index]));
    const words = all.map((each) => [each.message, each.law, each.file || "", each.function || "", each.trace || ""].join("\n").toLowerCase());
    law.append(el("option", { value: "" }, "all"), ...[...new Set(all.map((each) => each.law))].sort().map((name) => el("option", { value: name }, name)));
    const set = growing(list, byId("findings-more"), byId("findings-shown"), all.length, "finding", (each) => entry(each, at.get(each)));
    const keys = {
      rank: () => 0,
      count: (a, b) => b.count - a.count,
      place: (a, b) => (a.file || "").localeCompare(b.file || "") || (a.line || 0) - (b.line || 0),
      law: (a, b) => a.law.localeCompare(b.law),
    };
    const show = () => {
      const asked = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
      const kept = all.filter((each, index) => (!law.value || each.law === law.value) && asked.every((word) => words[index].includes(word) || each.id.startsWith(word)));
      set(order.value === "rank" ? kept : kept.slice().sort(keys[order.value]));
    };
    filter.addEventListener("input", later(show));
    law.addEventListener("change", show);
    order.addEventListener("change", show);
    byId("findings-form").addEventListener("submit", (event) => event.preventDefault());
    byId("findings-form").hidden = false;
    show();
    const wanted = decodeURIComponent(location.hash.slice(1));
    const found = all.find((each) => each.id === wanted);
    if (found) {
      filter.value = found.id;
      show();
      list.querySelector("button").click();
    }
    if (all.length === 1) list.querySelector("button").click();
    document.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
      const buttons = [...list.querySelectorAll("h3 > button")];
      if (event.key === "/") {
        event.preventDefault();
        filter.focus();
      } else if ((event.key === "j" || event.key === "k") && buttons.length) {
        const item = document.activeElement && document.activeElement.closest("#findings > li");
        const now = item ? buttons.indexOf(item.querySelector("h3 > button")) : -1;
        const next = event.key === "j" ? Math.min(buttons.length - 1, now + 1) : Math.max(0, now - 1);
        buttons[next].focus();
      }
    });
  }

  // -- the table of rules -----------------------------------------------------------------------

  function rules() {
    const table = byId("rules");
    if (!table) return;
    const heads = ["satisfied", "failed", "places", "state", "pattern", "rule"];
    const state = byId("rules-state"), filter = byId("rules-filter");
    let column = 0, falling = true;
    const row = (rule) => el("tr", {}, ...rule.map((cell, at) => el("td", at < 3 ? { class: "number" } : {}, at < 3 ? number.format(cell) : cell)));
    const set = growing(table.tBodies[0], byId("rules-more"), byId("rules-shown"), data.rules.length, "rule", row);
    const show = () => {
      const asked = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
      const kept = data.rules.filter((rule) => (!state.value || rule[3] === state.value)
        && asked.every((word) => rule[5].toLowerCase().includes(word) || rule[4].toLowerCase().includes(word)));
      const way = falling ? -1 : 1;
      kept.sort((a, b) => way * (column < 3 ? a[column] - b[column] : a[column].localeCompare(b[column])));
      set(kept);
    };
    const cells = heads.map((head, at) => {
      const button = el("button", { type: "button" }, head);
      const cell = el("th", { scope: "col", class: at < 3 ? "number" : null }, button);
      button.addEventListener("click", () => {
        falling = column === at ? !falling : at < 3;
        column = at;
        mark();
        show();
      });
      return cell;
    });
    const mark = () => cells.forEach((cell, at) => {
      const sorted = at === column;
      cell.querySelector("button").textContent = heads[at] + (sorted ? (falling ? " ↓" : " ↑") : "");
      if (sorted) cell.setAttribute("aria-sort", falling ? "descending" : "ascending");
      else cell.removeAttribute("aria-sort");
    });
    table.tHead.rows[0].append(...cells);
    state.append(...[...new Set(data.rules.map((rule) => rule[3]))].sort().map((name) => el("option", { value: name }, name)));
    filter.addEventListener("input", later(show));
    state.addEventListener("change", show);
    byId("rules-form").addEventListener("submit", (event) => event.preventDefault());
    byId("rules-form").hidden = false;
    mark();
    show();
  }

  findings();
  rules();
})();
