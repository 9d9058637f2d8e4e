"""Chromium over its pipe of the DevTools protocol: pages are opened, and keys and the mouse used as by a person."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PROGRAM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
_WAIT_SECONDS = 30.0
# It reads commands from 3 and writes answers to 4.
LAUNCH = """
import os, sys
read, write = (os.dup(int(number)) for number in sys.argv[1:3])
os.dup2(read, 3)
os.dup2(write, 4)
os.set_inheritable(3, True)
os.set_inheritable(4, True)
os.execv(sys.argv[3], sys.argv[3:])
"""


class Browser:
    """One page of a browser that runs no script of pages."""

    def __init__(self, commands: int, answers: int) -> None:
        self._commands, self._answers, self._rest, self._number = commands, answers, b"", 0
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.violations: list[str] = []
        for command in ("Page.enable", "DOM.enable", "Log.enable"):
            self._do(command)
        self._do("Emulation.setScriptExecutionDisabled", value=True)

    def open(self, url: str) -> None:
        self._do("Page.navigate", url=url)
        self._wait_for_load()

    def read(self, selector: str) -> str:
        """The text of an element."""
        return str(self._ask(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''"))

    def find_value(self, selector: str) -> str:
        return str(self._ask(f"document.querySelector({json.dumps(selector)})?.value ?? ''"))

    def click(self, selector: str, *, loads: bool = True) -> None:
        place = self._ask(
            f"(() => {{const e = document.querySelector({json.dumps(selector)}); e.scrollIntoView({{block: 'center'}});"
            "const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]})()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            where = {"x": place[0], "y": place[1], "button": "left", "clickCount": 1}
            self._do("Input.dispatchMouseEvent", type=kind, **where)
        if loads:
            self._wait_for_load()

    def type(self, selector: str, text: str) -> None:
        """Write a text in the place of what a field has."""
        self.click(selector, loads=False)
        self._ask(f"document.querySelector({json.dumps(selector)}).select()")
        self._do("Input.insertText", text=text)

    def cookies(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._call("Storage.getCookies")["cookies"]
        return found

    def _ask(self, expression: str) -> Any:
        answer = self._do("Runtime.evaluate", expression=expression, returnByValue=True)
        return answer["result"].get("value")

    def _do(self, method: str, **params: Any) -> dict[str, Any]:
        return self._call(method, session=self._session, **params)

    def _call(self, method: str, session: str | None = None, **params: Any) -> dict[str, Any]:
        self._number += 1
        message = {"id": self._number, "method": method, "params": params} | ({"sessionId": session} if session else {})
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                result: dict[str, Any] = answer["result"]
                return result
            self._note(answer)

    def _wait_for_load(self) -> None:
        until = time.monotonic() + _WAIT_SECONDS
        while time.monotonic() < until:
            event = self._receive()
            self._note(event)
            if event.get("method") == "Page.loadEventFired":
                return
        raise AssertionError("the page has not loaded")

    def _note(self, event: dict[str, Any]) -> None:
        entry = event.get("params", {}).get("entry", {}) if event.get("method") == "Log.entryAdded" else {}
        if entry.get("source") == "security":
            self.violations.append(entry["text"])

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            part = os.read(self._answers, 65_536)
            assert part, "the browser has ended"
            self._rest += part
        line, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        return message


@contextmanager
def open_browser(profile: Path) -> Iterator[Browser]:
    """A browser without a window, with a profile of its own."""
    to_read, commands = os.pipe()
    answers, to_write = os.pipe()

    arguments = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe"]
    arguments.append(f"--user-data-dir={profile}")
    process = subprocess.Popen(
        [sys.executable, "-c", LAUNCH, str(to_read), str(to_write), str(PROGRAM), *arguments, "about:blank"],
        pass_fds=(to_read, to_write),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(to_read)
    os.close(to_write)
    try:
        yield Browser(commands, answers)
    finally:
        process.kill()
        process.wait()
        os.close(commands)
        os.close(answers)
