"""Makes the pictures of the documentation anew: real runs, in a real browser."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images"
LAWFUL = [sys.executable, "-m", "lawful"]


def dashboard(page: Page, name: str, folder: Path, words: list[str], ready: str) -> None:
    """A picture of a run under `lawful run --serve`, once something is there."""
    command = [*LAWFUL, "run", "--serve", *words]
    with subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as process:
        assert process.stderr is not None
        found = re.search(r"http://\S+", process.stderr.readline())
        assert found is not None
        page.goto(found[0])
        page.wait_for_selector(ready, timeout=60_000)
        page.wait_for_timeout(3_000)
        page.screenshot(path=IMAGES / f"{name}.png", full_page=True)
        process.kill()


def report(page: Page, name: str, folder: Path, words: list[str]) -> None:
    """A picture of the page that `lawful run -o report.html` writes, with its first finding open."""
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary, "report.html")
        subprocess.run([*LAWFUL, "run", "-o", str(path), *words], cwd=folder, stdout=subprocess.DEVNULL)
        page.set_viewport_size({"width": 1200, "height": 1150})
        page.goto(path.as_uri())
        finding = page.locator("#findings > li").first
        if finding.locator(".panel").is_hidden():
            finding.locator("button").click()
        page.screenshot(path=IMAGES / f"{name}.png")


def main() -> None:
    """All of them."""
    browser_path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser_path is None:
        sys.exit("there is no chromium: tools/get-browser installs it")
    IMAGES.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1200, "height": 700}, color_scheme="light")
        learning = ["--learn", "--law", "files", "--public", "shop", "shop.py", "40"]
        dashboard(page, "dashboard", ROOT / "examples" / "dashboard", learning, "#findings-list li")
        dark = browser.new_page(viewport={"width": 1200, "height": 700}, color_scheme="dark")
        sampling = "--law bank.toml --confidence 0.99 --error-rate 1e-4 bank.py 3000000 0.0000001".split()
        report(page, "report", ROOT / "examples" / "learning", ["--learn", "--law", "sqlite3", "orders.py"])
        dashboard(dark, "confidence", ROOT / "examples" / "sampling", sampling, "#classes .line")
        browser.close()


if __name__ == "__main__":
    main()
