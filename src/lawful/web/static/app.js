// The dashboard's page. All that comes from the program is put into the page as text, never as HTML.
"use strict";

const token = new URLSearchParams(location.search).get("token") || "";
// The token must not stay in the address bar, where it would be copied with it.
history.replaceState(null, "", "/");

const SHOWN = 100; // findings at a time
const POINTS = 240; // of a curve
const byId = (id) => document.getElementById(id);

const seen = { findings: new Map(), state: null, over: false, rates: [], shown: SHOWN };

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "class") made.className = value;
    else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

function drawn(tag, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

// Make one tree like another, and keep what is the same: what has the focus keeps it, and what was opened stays open.
// Handlers stay those of the old tree, so they must not rely on more than the key of what they belong to.
function morph(old, made) {
  if (old.nodeType !== made.nodeType || old.nodeName !== made.nodeName) {
    old.replaceWith(made);
    return;
  }
  if (old.nodeType === Node.TEXT_NODE) {
    if (old.data !== made.data) old.data = made.data;
    return;
  }
  for (const { name } of [...old.attributes]) if (name !== "open" && !made.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of made.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  const there = [...old.childNodes], wanted = [...made.childNodes];
  wanted.forEach((child, at) => (at < there.length ? morph(there[at], child) : old.append(child)));
  there.slice(wanted.length).forEach((child) => child.remove());
}

// The same for a list whose entries have keys.
function refresh(list, made, isNew = () => {}) {
  if (list.querySelector(":active")) return; // somebody is pressing a button of it
  const there = new Map([...list.children].map((item) => [item.dataset.key, item]));
  const items = made.map((item) => {
    const old = there.get(item.dataset.key);
    there.delete(item.dataset.key); // several may have the same
    if (old) morph(old, item);
    else isNew(item);
    return old ?? item;
  });
  if (items.length === list.children.length && items.every((item, at) => list.children[at] === item)) return;
  const focused = document.activeElement;
  list.replaceChildren(...items);
  if (focused !== document.activeElement && focused.isConnected) focused.focus({ preventScroll: true });
}

const number = (value) => (typeof value === "number" ? value.toLocaleString("en") : "");
const rounded = (value, digits = 3) => (value === null || value === undefined ? "" : Number(value.toPrecision(digits)).toString());
const place = (thing) => (thing.file ? `${thing.file}:${thing.line ?? "?"}` : "");

// -- commands ---------------------------------------------------------------------------------------------------------

async function command(asked) {
  let answer;
  try {
    const response = await fetch("/do", {
      method: "POST",
      headers: { "content-type": "application/json", "x-lawful-token": token },
      body: JSON.stringify(asked),
    });
    answer = response.headers.get("content-type")?.startsWith("application/json")
      ? await response.json()
      : { error: { message: await response.text() } };
  } catch (error) {
    answer = { error: { message: `the server does not answer (${error.message})` } };
  }
  if (answer.error) say(answer.error.text || `${answer.error.message}${answer.error.hint ? `\nhint: ${answer.error.hint}` : ""}`, true);
  return answer.error ? null : answer.result;
}

let silence;
function say(text, bad = false) {
  const message = byId("message");
  message.textContent = text;
  message.classList.toggle("bad", bad);
  clearTimeout(silence);
  silence = setTimeout(() => (message.textContent = ""), bad ? 15000 : 5000);
}

function offer(text, name) {
  const address = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  const link = element("a", { href: address, download: name });
  link.click();
  URL.revokeObjectURL(address);
}

// -- findings ---------------------------------------------------------------------------------------------------------

function findingItem(finding) {
  const item = element("li", { class: `${finding.anomaly ? "anomaly" : ""} ${finding.muted ? "muted" : ""}`, "data-key": finding.number });
  const history = finding.history.length
    ? element("details", {}, element("summary", {}, `what led there (${finding.history.length})`),
        element("ul", { class: "history" }, ...finding.history.map((each) =>
          element("li", {}, element("span", { class: "where" }, place(each)), element("span", {}, each.text)))))
    : null;
  const mute = button(finding.muted ? "Unmute" : "Mute", `${finding.law} ${place(finding)}`, () =>
    command({ do: seen.findings.get(finding.number)?.muted ? "unmute" : "mute", finding: finding.number }));
  item.append(
    element("div", { class: "head" },
      element("span", { class: "what" }, finding.law),
      element("span", { class: "where" }, place(finding)),
      element("span", { class: "times" }, finding.count > 1 ? `${number(finding.count)} times ` : "", mute)),
    element("p", { class: "said" }, finding.message),
  );
  if (history) item.append(history);
  return item;
}

function matches(finding, words) {
  const text = `${finding.law} ${place(finding)} ${finding.message}`.toLowerCase();
  return words.every((word) => text.includes(word));
}

function showFindings() {
  const words = byId("findings-filter").value.toLowerCase().split(/\s+/).filter(Boolean);
  const muted = byId("show-muted").checked;
  const wanted = [...seen.findings.values()].filter((each) => (muted || !each.muted) && matches(each, words));
  wanted.sort((one, other) => other.number - one.number);
  refresh(byId("findings-list"), wanted.slice(0, seen.shown).map(findingItem), (item) => item.classList.add("new"));
  byId("findings-count").textContent = wanted.length === seen.findings.size ? number(wanted.length) : `${number(wanted.length)} of ${number(seen.findings.size)}`;
  byId("findings-more").hidden = wanted.length <= seen.shown;
}

// -- tables -----------------------------------------------------------------------------------------------------------

// Says what it is for to those who do not see what stands beside it.
function button(label, what, act) {
  const attributes = { type: "button", class: "control", "aria-label": `${label} ${what}`, onclick: act };
  return element("button", seen.over ? { ...attributes, disabled: "" } : attributes, label);
}

function showLaws(laws) {
  const paused = (name) => seen.state.laws.find((law) => law.name === name)?.state === "paused";
  refresh(byId("laws"), laws.map((law) =>
    element("tr", { "data-key": law.name },
      element("th", { scope: "row" }, law.name),
      element("td", { class: `state-${law.state}` }, law.state),
      element("td", {}, law.verdict.replace("_", " ")),
      element("td", { class: "number" }, number(law.violations)),
      element("td", { class: "control" },
        button(law.state === "paused" ? "Resume" : "Pause", law.name, () =>
          command({ do: paused(law.name) ? "resume-law" : "pause-law", name: law.name })),
        " ",
        button("Remove", law.name, () => command({ do: "remove-law", name: law.name }))))));
}

const RANK = { enforcing: 0, learning: 1, dead: 2 };
const ORDERS = {
  state: (one, other) => RANK[one.state] - RANK[other.state] || other.satisfied - one.satisfied,
  satisfied: (one, other) => other.satisfied - one.satisfied,
  failed: (one, other) => other.failed - one.failed,
  text: (one, other) => one.text.localeCompare(other.text),
};

function showRules() {
  const learning = seen.state?.learning;
  if (!learning) return;
  const words = byId("rules-filter").value.toLowerCase().split(/\s+/).filter(Boolean);
  const wanted = learning.rules.filter((rule) => words.every((word) => rule.text.toLowerCase().includes(word)));
  wanted.sort(ORDERS[byId("rules-sort").value]);
  refresh(byId("rules"), wanted.map((rule) =>
    element("tr", { "data-key": rule.text },
      element("th", { scope: "row" }, rule.text),
      element("td", { class: `state-${rule.state}` }, rule.state),
      element("td", { class: "number" }, number(rule.satisfied)),
      element("td", { class: "number" }, number(rule.failed)),
      element("td", { class: "number" }, number(rule.contexts)),
      element("td", { class: "control" }, button("Make a law", `of ${rule.text}`, async () => {
        const made = await command({ do: "promote", rule: rule.number, text: rule.text });
        if (made) offer(made.rml, made.name);
      })))));
}

function showLearning(learning) {
  byId("learning").hidden = !learning;
  if (!learning) return;
  const known = learning.known ? `; ${number(learning.known)} ${learning.known === 1 ? "anomaly" : "anomalies"} that earlier runs had, too` : "";
  byId("rules-count").textContent = `${number(learning.counts.enforcing)} enforced, ${number(learning.counts.learning)} being learned${known}`;
  fields(byId("parameters"), { window: "number", budget: "number", strategy: "text", tune: "checkbox", tune_every: "number",
    seed: "number", most_pairs: "number", all_rules: "checkbox" }, learning.parameters,
    learning.parameters.thresholds);
  showRules();
  refresh(byId("moves"), [...learning.moves].reverse().map((move) =>
    element("tr", { "data-key": move.event },
      element("td", { class: "number" }, number(move.event)), element("td", {}, move.variable),
      element("td", { class: "number" }, rounded(move.old)), element("td", { class: "number" }, rounded(move.new)),
      element("td", { class: "number" }, rounded(move.before)), element("td", { class: "number" }, rounded(move.after)))));
}

// A form with the values as they are; what somebody is editing is left alone until it is sent.
function fields(form, kinds, values, thresholds = {}) {
  if (!form.elements.length) {
    for (const [name, kind] of Object.entries(kinds)) {
      form.append(element("label", {}, name.replace("_", " "),
        element("input", { name, type: kind, ...(kind === "number" ? { step: "any", inputmode: "decimal" } : {}) })));
    }
    form.append(element("button", {}, "Change"));
    form.addEventListener("input", (event) => (event.target.dataset.touched = "yes"));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const change = {}, limits = {};
      for (const input of form.querySelectorAll("input[data-touched]")) {
        const value = input.type === "checkbox" ? input.checked : input.type === "number" ? Number(input.value) : input.value;
        if (input.dataset.threshold) limits[input.dataset.threshold] = value;
        else change[input.name] = value;
        delete input.dataset.touched;
      }
      if (Object.keys(limits).length) change.thresholds = limits;
      if (Object.keys(change).length) {
        command({ do: form.id === "demand" ? "sampling" : "learning", change }).then((done) => done && say("changed"));
      }
    });
  }
  for (const name of Object.keys(thresholds)) {
    if (!form.querySelector(`input[data-threshold="${CSS.escape(name)}"]`)) {
      form.lastElementChild.before(element("label", {}, name, element("input", { name, type: "number", step: "any", "data-threshold": name })));
    }
  }
  for (const input of form.querySelectorAll("input[data-threshold]")) {
    if (!(input.dataset.threshold in thresholds)) input.parentElement.remove();
  }
  for (const input of form.querySelectorAll("input:not([data-touched])")) {
    if (input === document.activeElement) continue;
    const value = input.dataset.threshold ? thresholds[input.dataset.threshold] : values[input.name];
    if (input.type === "checkbox") input.checked = Boolean(value);
    else input.value = value ?? "";
  }
}

function showSampling(sampling) {
  byId("sampling").hidden = !sampling;
  if (!sampling) return;
  fields(byId("demand"), { confidence: "number", error_rate: "number", policy: "text", overhead: "text" }, sampling);
  byId("classes").replaceChildren(...sampling.classes.flatMap((kind) => [
    element("h3", {}, `${kind.name}: ${kind.state}, ${percent(kind.rate)} of new objects followed`),
    element("p", {}, `${number(kind.created)} created, ${number(kind.sampled)} followed, ${number(kind.alive)} alive`),
    element("table", { "aria-label": `Laws about ${kind.name}` },
      element("thead", {}, element("tr", {}, ...["law", "claim", "samples", "needed", "violations", "confidence", "error rate at most"].map((text, at) =>
        element("th", { scope: "col", class: at > 1 ? "number" : "" }, text)))),
      element("tbody", {}, ...kind.laws.map((law) => element("tr", {},
        element("th", { scope: "row" }, law.law), element("td", { class: `state-${law.state}` }, law.state),
        ...[number(law.samples), number(law.needed), number(law.violations), percent(law.confidence), rounded(law.bound)].map((text) =>
          element("td", { class: "number" }, text)))))),
    figure(kind),
  ]));
}

const percent = (share) => `${rounded(share * 100, share > 0.999 ? 7 : 3)} %`;

function figure(kind) {
  const svg = drawn("svg", { class: "plot", viewBox: "0 0 600 90", preserveAspectRatio: "none", role: "img", "aria-label": `Clean samples of ${kind.name} over time` });
  plot(svg, kind.series.map((point) => point.clean), kind.series.map((point) => point.time));
  return element("figure", {}, svg, element("figcaption", {}, `clean samples over time, ${number(Math.max(0, ...kind.series.map((point) => point.clean)))} at most`));
}

// -- curves -----------------------------------------------------------------------------------------------------------

function plot(svg, values, times = values.map((_, at) => at)) {
  if (values.length < 2) return;
  const top = Math.max(...values, 1), from = times[0], to = Math.max(times[times.length - 1], from + 1e-9);
  const x = (at) => (600 * (times[at] - from)) / (to - from), y = (value) => 86 - (76 * value) / top;
  const points = values.map((value, at) => `${x(at).toFixed(1)} ${y(value).toFixed(1)}`);
  svg.replaceChildren(
    drawn("line", { x1: 0, y1: 86, x2: 600, y2: 86 }),
    drawn("path", { class: "area", d: `M${points.join("L")}L600 86L0 86Z` }),
    drawn("path", { class: "line", d: `M${points.join("L")}` }),
  );
}

// -- news -------------------------------------------------------------------------------------------------------------

function status(text, kind) {
  byId("status").textContent = text;
  byId("status").className = kind;
}

function show(view) {
  const state = view.state;
  for (const finding of view.findings) {
    if (finding.withdrawn) seen.findings.delete(finding.number);
    else seen.findings.set(finding.number, finding);
  }
  if (view.findings.length || !seen.state) showFindings();
  if (!state || !("events" in state)) return;
  if (seen.state?.seconds !== state.seconds) seen.rates.push(state.rate);
  if (seen.rates.length > POINTS) seen.rates.shift();
  seen.state = state;
  seen.over = view.over;
  document.title = `${view.total ? `(${view.total}) ` : ""}Lawful ${state.program}`;
  byId("program").textContent = state.program;
  document.body.classList.toggle("finished", state.process === null); // it is read from a report: nothing can be done
  byId("events").textContent = number(state.events);
  byId("rate").textContent = number(Math.round(state.rate));
  byId("waiting").textContent = `${number(state.waiting)} of ${number(state.buffer)}`;
  byId("dropped").textContent = number(state.dropped);
  byId("cost").textContent = `${rounded(state.cost)} s`;
  byId("seconds").textContent = `${Math.round(state.seconds).toLocaleString("en")} s`;
  plot(byId("rate-plot"), seen.rates);
  byId("rate-top").textContent = number(Math.round(Math.max(0, ...seen.rates)));
  byId("notes").replaceChildren(...[...state.errors, ...state.warnings].map((text) => element("li", {}, text)));
  showLaws(state.laws);
  showLearning(state.learning);
  showSampling(state.sampling);
  byId("record").textContent = state.recording.on ? "Stop recording" : "Record";
  byId("recording").textContent = state.recording.file ? `${state.recording.on ? "writing" : "to"} ${state.recording.file}` : "";
  byId("record").disabled = !state.recording.on && !state.recording.file;
  if (view.over) end();
  else status("live", "live");
}

function end() {
  seen.over = true;
  status("the program has ended", "over");
  for (const control of document.querySelectorAll("button.control, .control button, .control input, .control textarea")) control.disabled = true;
}

function listen() {
  const source = new EventSource(`/news?token=${encodeURIComponent(token)}`);
  source.onmessage = (event) => show(JSON.parse(event.data));
  source.addEventListener("over", () => {
    source.close();
    end();
  });
  source.onerror = () => {
    if (!seen.over) status("the connection is lost; trying again …", "lost");
    if (source.readyState === EventSource.CLOSED) status("the server has gone, or the token is wrong", "lost");
  };
}

byId("findings-filter").addEventListener("input", () => showFindings());
byId("show-muted").addEventListener("change", () => showFindings());
byId("findings-more").addEventListener("click", () => {
  seen.shown += SHOWN;
  showFindings();
});
byId("rules-filter").addEventListener("input", showRules);
byId("rules-sort").addEventListener("change", showRules);
byId("record").addEventListener("click", () => command({ do: "record", on: !seen.state?.recording.on }));
for (const id of ["law-named", "law-written"]) {
  byId(id).addEventListener("submit", async (event) => {
    event.preventDefault();
    const added = await command({ do: "add-law", ...Object.fromEntries(new FormData(event.target)) });
    if (added) say(`added: ${added.laws.join(", ")}`);
  });
}
listen();
