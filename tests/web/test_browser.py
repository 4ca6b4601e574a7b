"""The dashboard in a real browser: what a person sees and does there."""

from __future__ import annotations

import re
import threading
from pathlib import Path

import pytest

from browser import SCREENSHOTS, browser, needs_browser
from lawful.web import serving
from web.programs import Shown

__all__ = ["browser"]

pytestmark = needs_browser


@pytest.fixture
def page(browser):
    made = browser.new_page(viewport={"width": 1280, "height": 900})
    made.faults = []
    made.on("pageerror", lambda error: made.faults.append(str(error)))
    made.on("console", lambda view: made.faults.append(view.text) if view.type == "error" else None)
    made.on("dialog", lambda dialog: (made.faults.append("a dialog"), dialog.dismiss()))
    yield made
    made.close()


@pytest.fixture
def shown(tmp_path, request):
    options = getattr(request, "param", ("--law", "files", "--learn", "--public", "program"))
    running = Shown(tmp_path, *options, seconds=60)
    yield running
    running.close()


def keep(page, name: str) -> None:
    """Keep a picture for whoever wants to see what the tests saw."""
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=True)


def test_findings_arrive_and_the_window_is_changed(page, shown):
    from playwright.sync_api import expect

    page.goto(shown.address)
    page.wait_for_selector("#findings-list .what:text-is('files/use-after-close')")
    assert "token" not in page.url  # it does not stay in the address bar
    page.wait_for_selector("#rules tr")
    page.fill("#parameters input[name=window]", "77")
    page.click("#parameters button")
    shown.until(lambda view: view["state"]["learning"]["parameters"]["window"] == 77)
    expect(page.locator("#parameters input[name=window]")).to_have_value("77")
    page.fill("#parameters input[name=window]", "-5")
    page.click("#parameters button")
    page.wait_for_selector("#message.bad")
    assert "window-range" in page.locator("#message").inner_text()
    with page.expect_download() as download:
        page.locator("#rules button").first.click()
    assert "Main =" in Path(download.value.path()).read_text()
    keep(page, "learning")
    assert not [fault for fault in page.faults if "400" not in fault]


@pytest.mark.parametrize("shown", [("--law", "locks")], indirect=True)
def test_a_law_is_added_paused_and_a_finding_muted(page, shown):
    page.goto(shown.address)
    page.wait_for_selector("#laws tr")
    assert page.locator("#findings-list li").count() == 0
    page.click("#add-law summary")
    page.fill("#law-named input[name=name]", "files/use-after-close")
    page.click("#law-named button")
    page.wait_for_selector("#findings-list li")
    page.wait_for_selector("#laws tr:has-text('files/use-after-close')")
    page.locator("#findings-list button").first.click()
    page.wait_for_selector("#findings-list:empty", state="attached")
    page.check("#show-muted")
    page.wait_for_selector("#findings-list li.muted")
    page.locator("#laws tr:has-text('files/use-after-close') button:has-text('Pause')").click()
    page.keyboard.press("Tab")
    page.locator("body").click(position={"x": 1, "y": 1})
    page.wait_for_selector("#laws td.state-paused")
    keep(page, "laws")
    assert page.faults == []


def test_names_of_the_program_are_shown_as_text(page, shown, tmp_path):
    law = "x matches {event: 'func_pre', name: 'program.Account.use'}; Main = x >> empty;"
    name = "<img src=x onerror=alert(1)>.rml"
    assert shown.do(do="add-law", name=name, text=law).status_code == 200
    page.goto(shown.address)
    page.wait_for_selector("#findings-list li:has-text('onerror')")
    assert name in page.locator("#laws").inner_text()
    assert page.locator("main img").count() == 0
    keep(page, "hostile")
    assert page.faults == []


def test_a_wrong_token_is_refused(page, shown):
    page.goto(shown.base + "/?token=wrong")
    assert "refused" in page.locator("body").inner_text()


def test_a_page_of_another_origin_gets_nothing(page, shown, elsewhere):
    page.goto(elsewhere)
    ask = """([address, token, mode, kind]) => fetch(address, {method: 'POST', mode, headers: {
        'content-type': kind, ...(mode === 'cors' ? {'x-lawful-token': token} : {})},
        body: '{"do": "learning", "change": {"window": 99}}'}).then(answer => answer.status, () => 'blocked')"""
    assert page.evaluate(ask, [shown.base + "/do", shown.token, "cors", "application/json"]) == "blocked"
    simple = [f"{shown.base}/do?token={shown.token}", shown.token, "no-cors", "text/plain"]
    assert page.evaluate(ask, simple) == "blocked"
    look = """(address) => new Promise(done => {
        const source = new EventSource(address);
        source.onmessage = () => done('received'); source.onerror = () => done('blocked'); })"""
    assert page.evaluate(look, f"{shown.base}/news?token={shown.token}") == "blocked"
    view = shown.until(lambda view: view["state"]["learning"])
    assert view["state"]["learning"]["parameters"]["window"] != 99


@pytest.fixture
def elsewhere():
    """A page of another origin."""

    async def empty(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/html")]})
        await send({"type": "http.response.body", "body": b"<title>elsewhere</title>"})

    socket = serving.listen("127.0.0.1", 0)
    server = serving.server(empty)
    thread = threading.Thread(target=server.run, args=([socket],))
    thread.start()
    yield serving.location(*serving.address(socket), None)
    server.should_exit = True
    thread.join(10)
    socket.close()


def test_when_the_program_ends_the_page_says_so(page, shown):
    page.goto(shown.address)
    page.wait_for_selector("#findings-list li")
    shown.interrupt()
    page.wait_for_selector("#status.over", timeout=20_000)
    assert page.locator("#status").inner_text() == "the program has ended"
    assert page.locator("#record").is_disabled()
    keep(page, "over")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_can_be_read_in_light_and_in_the_dark_and_on_a_small_screen(browser, shown, scheme):
    page = browser.new_page(color_scheme=scheme, viewport={"width": 390, "height": 800})
    page.goto(shown.address)
    page.wait_for_selector("#findings-list li")
    wide = page.evaluate("document.documentElement.scrollWidth")
    colours = page.evaluate("[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]")
    keep(page, f"small-{scheme}")
    page.close()
    assert wide <= 390
    ink, ground = (sum(map(int, re.findall(r"\d+", colour)[:3])) for colour in colours)
    assert (ink < ground) == (scheme == "light") and abs(ink - ground) > 400


def test_the_keyboard_reaches_everything_and_things_have_names(page, shown):
    page.goto(shown.address)
    page.wait_for_selector("#findings-list li")
    page.wait_for_selector("#parameters input")
    nameless = page.evaluate(
        "[...document.querySelectorAll('input, select, textarea, button')].filter(e => !(e.labels?.length ||"
        " e.textContent.trim() || e.getAttribute('aria-label'))).map(e => e.outerHTML)"
    )
    assert nameless == []
    names = page.evaluate(
        "[...document.querySelectorAll('td button, li button')].map(e => e.getAttribute('aria-label'))"
    )
    assert len(names) > 5 and len(set(names)) == len(names)
    unnamed = page.evaluate(
        "[...document.querySelectorAll('table')].filter(e => !e.ariaLabel && !e.getAttribute('aria-labelledby')).length"
    )
    assert unnamed == 0
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to findings"


def test_what_has_the_focus_keeps_it_while_numbers_change(page, shown):
    """Numbers change twice a second; who works with the keyboard, or hears the page, must not notice."""
    page.goto(shown.address)
    item = page.locator("#findings-list li", has_text="files/use-after-close").first
    item.locator("summary").focus()
    page.keyboard.press("Enter")
    before = item.locator(".times").inner_text()
    for _ in range(100):
        if item.locator(".times").inner_text() != before:
            break
        page.wait_for_timeout(100)
    assert item.locator(".times").inner_text() != before
    assert page.evaluate("document.activeElement.tagName") == "SUMMARY"
    assert item.locator("details").evaluate("details => details.open")


def test_a_law_that_was_paused_by_keyboard_is_shown_so_and_woken_again(page, shown):
    page.goto(shown.address)
    page.locator("#laws").get_by_role("button", name="Pause files/left-open").focus()
    page.keyboard.press("Enter")
    row = page.locator("#laws tr", has_text="files/left-open")
    row.locator("td:text-is('paused')").wait_for()
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "Resume files/left-open"
    page.keyboard.press("Enter")
    row.locator("td:text-is('on')").wait_for()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_texts_can_be_told_from_their_ground(browser, shown, scheme):
    """By the formula of the guidelines for accessible pages: 4.5 to 1 at least."""
    page = browser.new_page(color_scheme=scheme, viewport={"width": 1280, "height": 900})
    page.goto(shown.address)
    page.wait_for_selector("#rules tr")
    page.evaluate("document.querySelectorAll('details').forEach((each) => (each.open = true))")
    faint = page.evaluate(CONTRAST)
    page.close()
    assert faint == []


# The texts that are not dark or light enough. Grounds are plain colours, mostly of an element further out.
CONTRAST = """() => {
  const channels = (text) => text.match(/[0-9.]+/g).map(Number);
  const light = (colour) => colour.slice(0, 3)
    .map((value) => value / 255).map((value) => (value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4))
    .reduce((sum, value, at) => sum + value * [0.2126, 0.7152, 0.0722][at], 0);
  const ground = (element) => {
    for (let each = element; each; each = each.parentElement) {
      const colour = channels(getComputedStyle(each).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    throw new Error("there is no ground");
  };
  const texts = [...document.querySelectorAll("body *")].filter((element) => element.checkVisibility()
    && !element.disabled && [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim()));
  return texts.map((element) => {
    const pair = [light(channels(getComputedStyle(element).color)), light(ground(element))].sort();
    return [element.textContent.trim(), (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05)];
  }).filter(([, ratio]) => ratio < 4.5);
}"""
