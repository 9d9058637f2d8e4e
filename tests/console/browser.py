"""Chromium, driven by Playwright: whatever a page says in the console or asks of another address fails the test.

`MUNIMENT_TEST_CHROMIUM` names a browser in place of the one on the path; `MUNIMENT_TEST_SCREENSHOTS` a folder for a
picture of each page that is checked; `MUNIMENT_TEST_AXE` the file `axe.min.js` in place of the one that npm brings."""

import os
import re
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

AXE = "axe-core@4.14.1"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
# Name -> width and height in pixels of CSS, and the preferred colours. A screen of 1,280 pixels is 320 wide at 400 %.
VIEWS: dict[str, tuple[int, int, str]] = {
    "light": (1440, 900, "light"),
    "dark": (1440, 900, "dark"),
    "narrow": (390, 844, "light"),
    "zoom": (320, 256, "light"),
}
# Read before the environment is sealed for tests.
PROGRAM, AXE_FILE, PICTURES = (os.environ.get(f"MUNIMENT_TEST_{name}") for name in ("CHROMIUM", "AXE", "SCREENSHOTS"))
_NAMES = ("chromium", "chromium-browser", "google-chrome")


@cache
def find_axe() -> Path:
    """The file `axe.min.js`, fetched once by npm; the test is skipped where that is not possible."""
    if AXE_FILE:
        return Path(AXE_FILE)
    folder = Path(tempfile.gettempdir()) / f"muniment-{AXE}"
    file = folder / "package" / "axe.min.js"
    if not file.exists():
        npm = shutil.which("npm")
        if npm is None:
            pytest.skip("axe-core is fetched by npm, which is not installed; or set MUNIMENT_TEST_AXE")
        folder.mkdir(exist_ok=True)
        packed = subprocess.run([npm, "pack", "--silent", AXE], cwd=folder, capture_output=True, check=False, text=True)
        if packed.returncode:
            pytest.skip("npm cannot fetch axe-core; set MUNIMENT_TEST_AXE")
        with tarfile.open(folder / packed.stdout.split()[-1]) as archive:
            archive.extractall(folder, filter="data")
    return file


@dataclass
class Tab:
    """A page of the browser, with what it said and asked for."""

    page: Any  # Playwright's Page
    origin: str
    status: int = 200  # that the page is expected to have; a browser notes any other than 200
    complaints: list[str] = field(default_factory=list)

    def watch(self) -> None:
        """Note every message, error and request to elsewhere from here on."""
        self.page.on("console", self._note_message)
        self.page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        self.page.on("request", lambda request: self._note_request(request.url))

    def _note_message(self, message: Any) -> None:
        if self.status == 200 or f"status of {self.status}" not in message.text:
            self.complaints.append(f"console: {message.text}")

    def _note_request(self, url: str) -> None:
        if not url.startswith((f"{self.origin}/", "data:", "about:")):
            self.complaints.append(f"request: {url}")

    def open(self, path: str) -> None:
        """Go to a page, and wait until it is there."""
        self.page.goto(self.origin + path, wait_until="load")

    def change_view(self, view: str) -> None:
        """Show the page as it is in another view, when its colours have changed."""
        width, height, colours = VIEWS[view]
        self.page.set_viewport_size({"width": width, "height": height})
        self.page.emulate_media(color_scheme=colours)
        self.page.evaluate("Promise.all(document.getAnimations().map(each => each.finished))")

    def check(self) -> None:
        """Fail for whatever was noted."""
        assert self.complaints == []

    def find_violations(self) -> list[str]:
        """What axe finds on the page as it is."""
        if self.page.evaluate("typeof axe") == "undefined":
            self.page.evaluate(find_axe().read_text(encoding="utf-8"))
        found = self.page.evaluate(
            "tags => axe.run({runOnly: {type: 'tag', values: tags}, resultTypes: ['violations'], iframes: false})"
            ".then(r => r.violations.map("
            "v => v.id + ': ' + v.nodes.map(n => n.target.join(' ') + ' ' + (n.failureSummary || '')).join(' | ')))",
            RULES,
        )
        return [str(each) for each in found]

    def overflows(self) -> bool:
        """Whether the page has to be scrolled sideways."""
        return bool(self.page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"))

    def take_picture(self, path: str, view: str) -> None:
        """Keep a picture of the whole page where pictures are wanted; `path` and `view` name it."""
        if PICTURES:
            name = re.sub(r"[^\w.]+", "-", path).strip("-") or "overview"
            self.page.screenshot(path=str(Path(PICTURES) / f"{name[:80]}.{view}.png"), full_page=True)


@dataclass
class Browser:
    """A running Chromium."""

    chromium: Any  # Playwright's Browser

    @contextmanager
    def open_tab(
        self, origin: str, cookies: Any = (), *, view: str = "light", script: bool = True, status: int = 200
    ) -> Iterator[Tab]:
        """A tab of a new profile, with the cookies of a client; it fails for what it noted when it is closed."""
        width, height, colours = VIEWS[view]
        context = self.chromium.new_context(
            viewport={"width": width, "height": height},
            color_scheme=colours,
            java_script_enabled=script,
            locale="en-GB",
        )
        try:
            host = urlsplit(origin).hostname
            context.add_cookies(
                [
                    {"name": each.name, "value": each.value, "domain": host, "path": "/", "sameSite": "Strict"}
                    for each in cookies
                ]
            )
            tab = Tab(context.new_page(), origin, status)
            tab.watch()
            yield tab
            tab.check()
        finally:
            context.close()

    def check_page(
        self, origin: str, path: str, cookies: Any, *, views: Sequence[str] = tuple(VIEWS), status: int = 200
    ) -> None:
        """Open a page, look at it in each view, and open it without script: no message, no foreign request, nothing
        that axe finds, no scrolling sideways."""
        with self.open_tab(origin, cookies, view=views[0], status=status) as tab:
            tab.open(path)
            for view in views:
                tab.change_view(view)
                tab.take_picture(path, view)
                assert not tab.overflows(), f"{path} is wider than the {view} view"
                violations = tab.find_violations()
                assert violations == [], f"{view}: {violations}"
        with self.open_tab(origin, cookies, script=False, status=status) as tab:
            tab.open(path)
            tab.take_picture(path, "plain")
            assert tab.page.locator("h1").count() == 1
            assert not tab.page.locator("main").inner_text().isspace()


@contextmanager
def open_chromium() -> Iterator[Browser]:
    """A browser without a window; the test is skipped, with the reason, where there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    program = PROGRAM or next(filter(None, map(shutil.which, _NAMES)), None)
    if program is None:
        pytest.skip("there is no Chromium; install it, or set MUNIMENT_TEST_CHROMIUM")
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        try:
            yield Browser(chromium)
        finally:
            chromium.close()
