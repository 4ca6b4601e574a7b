// The page of an explanation: bounds by sliders, events shown or taken out, and what is known of a chosen arrow.
"use strict";

(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const detail = byId("detail");
  const hidden = new Set();
  const MOST_DRAWN = 250; // states: more would take long, and show little
  let chosen = null; // {panel, number}

  const make = (name, text = "", attributes = {}) => {
    const made = document.createElement(name);
    made.textContent = text;
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  };

  const panels = data.panels.map((panel, at) => {
    const section = document.querySelector(`[data-panel="${at}"]`);
    return {
      ...panel,
      section,
      figure: section.querySelector("figure"),
      made: section.querySelector("svg"), // by Lawful itself: for the whole picture
      snapshot: panel.chosen,
      groups: [],
    };
  });

  function draw() {
    panels.forEach((panel, at) => {
      const whole = panel.pictures[panel.snapshots[panel.snapshot].picture];
      const edges = whole.edges.map((edge, number) => ({ ...edge, from: [number] }));
      const picture = hidden.size ? lawfulProjection.project(whole, hidden) : { ...whole, edges };
      const caption = panel.figure.querySelector("figcaption");
      panel.whole = whole;
      const own = !hidden.size && panel.snapshot === panel.chosen;
      if (picture === null || (picture.states > MOST_DRAWN && !own)) {
        panel.groups = [];
        show(panel, make("p", "There are too many states to draw here."));
        caption.textContent = picture ? counted(picture.states, "state") : "";
      } else {
        panel.groups = lawfulDrawing.grouped(picture.edges, new Set(whole.dominating), new Set(data.failing));
        const described = (edge) => whole.edges[edge.from[0]].detail;
        const more = { role: panel.role, title: panel.title, note: whole.doomed_note };
        const tree = () => lawfulDrawing.svg(picture, panel.groups, { ...data, ...more }, described);
        show(panel, own ? panel.made : lawfulDrawing.toDom(tree()));
        caption.textContent = `${counted(picture.states, "state")}, ${counted(picture.edges.length, "edge")}`
          + (hidden.size ? `, ${counted(hidden.size, "event")} taken out` : "");
      }
      tell(panel.section.querySelector(".story"), whole.story);
      table(panel, at);
    });
    for (const each of document.querySelectorAll("[data-letter]")) each.hidden = hidden.has(Number(each.dataset.letter));
    choose(null);
  }

  const counted = (number, what) => `${number} ${what}${number === 1 ? "" : "s"}`;

  function show(panel, picture) {
    panel.figure.querySelectorAll("svg, p").forEach((each) => each.remove());
    panel.figure.append(picture);
  }

  function tell(list, story) {
    list.replaceChildren(...story.map((letter) => make("li", data.events[letter].shown, { "data-letter": letter })));
    list.hidden = list.previousElementSibling.hidden = !story.length;
  }

  function table(panel, at) {
    const rows = panel.groups.flatMap((group, number) => group.edges.map((edge) => {
      const known = panel.whole.edges[edge.from[0]];
      const row = make("tr", "", { "data-row": number });
      const button = make("button", data.events[edge.letter].label, { type: "button" });
      if (group.bold) button.className = "bold";
      button.addEventListener("click", () => choose({ panel: at, number }));
      const event = make("td");
      event.append(button);
      const input = make("td");
      if (known.example !== null) input.append(make("code", shortened(known.example)));
      row.append(make("td", edge.source), event, make("td", edge.target), make("td", known.place), input);
      return row;
    }));
    panel.section.querySelector(".arrows tbody").replaceChildren(...rows);
  }

  const shortened = (text) => (text.length > 80 ? `${text.slice(0, 79)}…` : text);

  function choose(next) {
    for (const each of document.querySelectorAll(".chosen")) each.classList.remove("chosen");
    for (const each of document.querySelectorAll("[aria-current]")) each.removeAttribute("aria-current");
    chosen = next;
    detail.hidden = false;
    if (next === null) {
      detail.replaceChildren(make("h2", "No arrow chosen"), make("p", "Click on an arrow, or go to one with Tab and press Enter."));
      return;
    }
    const panel = panels[next.panel], group = panel.groups[next.number];
    panel.figure.querySelector(`[data-edge="${next.number}"]`).classList.add("chosen");
    for (const row of panel.section.querySelectorAll(`[data-row="${next.number}"]`)) row.setAttribute("aria-current", "true");
    const parts = [make("h2", `From state ${group.source} to state ${group.target}`)];
    if (group.bold) parts.push(make("p", "In every word."));
    for (const edge of group.edges) {
      const known = panel.whole.edges[edge.from[0]];
      parts.push(make("h3", data.events[edge.letter].label));
      if (known.place) parts.push(make("p", known.place));
      if (known.source_line) parts.push(make("pre", known.source_line));
      if (edge.from.length > 1) {
        parts.push(make("p", `Stands for ${edge.from.length} arrows of the whole picture; this is the first.`, { class: "dim" }));
      }
      if (known.example !== null) parts.push(make("p", "An input that takes it:", { class: "dim" }), make("pre", known.example));
      if (known.word !== null) {
        const word = make("ol", "", { class: "story" });
        word.append(...known.word.map((letter) => make("li", data.events[letter].shown)));
        parts.push(make("p", "Its events:", { class: "dim" }), word);
      }
    }
    detail.replaceChildren(...parts);
  }

  // -- arrows ----------------------------------------------------------------------------------------------------------

  function arrowOf(event) {
    const edge = event.target.closest?.("[data-edge]");
    const section = edge?.closest("[data-panel]");
    return section ? { panel: Number(section.dataset.panel), number: Number(edge.dataset.edge) } : null;
  }

  document.addEventListener("click", (event) => {
    const arrow = arrowOf(event);
    if (arrow) choose(arrow);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && chosen) return choose(null);
    const arrow = arrowOf(event);
    if (!arrow) return undefined;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      return choose(arrow);
    }
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (step) {
      event.preventDefault();
      const all = panels[arrow.panel].groups.length;
      panels[arrow.panel].figure.querySelector(`[data-edge="${(arrow.number + step + all) % all}"]`).focus();
    }
    return undefined;
  });

  // -- controls --------------------------------------------------------------------------------------------------------

  function setHidden(letters) {
    hidden.clear();
    letters.forEach((letter) => hidden.add(letter));
    for (const box of document.querySelectorAll("[data-event]")) box.checked = !hidden.has(Number(box.dataset.event));
    draw();
  }

  byId("controls").hidden = false;
  byId("controls").addEventListener("submit", (event) => event.preventDefault());
  for (const box of document.querySelectorAll("[data-event]")) {
    box.addEventListener("change", () => {
      hidden[box.checked ? "delete" : "add"](Number(box.dataset.event));
      draw();
    });
  }
  byId("all").addEventListener("click", () => setHidden([]));
  byId("common").addEventListener("click", () => {
    const kept = new Set(panels.flatMap((panel) => panel.whole.dominating));
    setHidden([...data.events.keys()].filter((letter) => !kept.has(letter) && letter < data.events.length - data.ends));
  });
  byId("fit").addEventListener("change", (event) => {
    for (const panel of panels) panel.figure.classList.toggle("fit", event.target.checked);
  });

  const unwind = byId("unwind"), length = byId("length");
  if (unwind) {
    const panel = panels[0];
    const unwinds = [...new Set(panel.snapshots.map((each) => each.unwind))].sort((one, other) => one - other);
    const lengthsFor = (value) => panel.snapshots.filter((each) => each.unwind === value)
      .map((each) => each.word_length).sort((one, other) => one - other);
    const set = (slider, values, value) => {
      slider.max = values.length - 1;
      slider.value = values.indexOf(value);
      slider.disabled = values.length === 1;
      slider.setAttribute("aria-valuetext", value);
      byId(`${slider.id}-value`).textContent = value + (slider.disabled ? " (no other was tried)" : "");
    };
    const move = (value, wanted) => {
      const lengths = lengthsFor(value);
      const nearest = lengths.reduce((best, each) => (Math.abs(each - wanted) < Math.abs(best - wanted) ? each : best));
      set(unwind, unwinds, value);
      set(length, lengths, nearest);
      panel.snapshot = panel.snapshots.findLastIndex((each) => each.unwind === value && each.word_length === nearest);
    };
    const now = () => panel.snapshots[panel.snapshot];
    unwind.addEventListener("input", () => { move(unwinds[unwind.value], now().word_length); draw(); });
    length.addEventListener("input", () => { move(now().unwind, lengthsFor(now().unwind)[length.value]); draw(); });
    move(now().unwind, now().word_length);
    panel.snapshot = panel.chosen;
  }

  const theme = byId("theme"), root = document.documentElement;
  theme.hidden = false;
  theme.addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });

  draw();
})();
