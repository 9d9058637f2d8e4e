"""The log of the proxy: its form, its levels, and what is never in it."""

import logging
import re
import warnings
from pathlib import Path

import pytest

from muniment.faces.proxy.logs import start_log
from muniment.faces.serving.request_ids import REQUEST_ID
from muniment.memory.bootstrap import make_redactor
from tests.proxy.conftest import LOG_LINE, UPSTREAM_KEY, Proxy, Upstream

CANARY = "canary-91ce"


def test_every_line(proxy: Proxy, upstream: Upstream, token: str) -> None:
    """A request has lines with its own id, at the levels that they are said to have, and none has a secret or a
    text."""
    answer = proxy.chat(token, f"My favorite color is {CANARY}.", user=CANARY)
    proxy.wait_kept(answer.headers)
    lines = proxy.read_lines(answer.headers["x-muniment-request-id"])
    assert all(LOG_LINE.fullmatch(line) for line in lines)
    levels = {re.split(r"\] \[", line)[1] for line in lines}
    assert levels == {"DEBUG", "INFO"}
    assert any("received" in line and "[INFO]" in line for line in lines)
    assert any("200 in" in line and "[INFO]" in line for line in lines)
    refused = proxy.chat(token, {"role": CANARY, "content": CANARY})
    assert any("[WARNING]" in line for line in proxy.read_lines(refused.headers["x-muniment-request-id"]))
    with proxy.client(token) as client:
        client.get(f"/v1/{CANARY}?key={CANARY}")
    for secret in (CANARY, token, proxy.admin_token, UPSTREAM_KEY):
        assert secret not in proxy.log


def test_statements(proxy: Proxy, token: str) -> None:
    """At DEBUG each statement of a request is a line with the request's id: its name, its time, its rows."""
    answer = proxy.chat(token, f"My heron is called {CANARY}.")
    proxy.wait_kept(answer.headers)
    lines = [line for line in proxy.read_lines(answer.headers["x-muniment-request-id"]) if "statement_log]" in line]
    told = [re.fullmatch(r".*\[DEBUG\].*\] (\w+\.\w+): \d+\.\d ms, \d+ rows", line) for line in lines]
    names = [found[1] for found in told if found]
    assert len(names) == len(lines)
    assert names[0] == "token_configs.find"
    assert {"search.search", "messages.window", "messages.append"} <= set(names)
    assert CANARY not in "".join(lines)


def test_ids_of_requests(proxy: Proxy, token: str) -> None:
    """Each answer has the id of its own request."""
    ids = [proxy.chat(token, "Hello").headers["x-muniment-request-id"] for _ in range(5)]
    assert len(set(ids)) == 5
    assert all(re.fullmatch(r"[0-9a-f]{8}", each) for each in ids)
    assert all(proxy.read_lines(each) for each in ids)


@pytest.fixture
def restored() -> object:
    root, ours = logging.getLogger(), logging.getLogger("muniment")
    handlers, level, our_level = root.handlers[:], root.level, ours.level
    yield
    logging.captureWarnings(capture=False)
    root.handlers[:] = handlers
    root.setLevel(level)
    ours.setLevel(our_level)


def test_any_library(restored: object, capsys: pytest.CaptureFixture[str]) -> None:
    """A record of any library is one line of the form, redacted, without the text of an exception."""
    start_log("INFO", make_redactor())
    id_ = REQUEST_ID.set("0a1b2c3d")
    key = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD"
    try:
        logging.getLogger("other.library").warning("Authorization: Bearer %s\nmore %s", key, CANARY)
        logging.getLogger("other.library").info(CANARY)
        logging.getLogger("muniment.memory").warning("two\nlines")
        logging.getLogger("muniment.memory").debug(CANARY)
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.warn(f"odd\n{CANARY}", stacklevel=1)
        logging.getLogger("other").error("failed", exc_info=ValueError(CANARY))
    finally:
        REQUEST_ID.reset(id_)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 4
    assert all(LOG_LINE.fullmatch(line) and "[rid=0a1b2c3d]" in line for line in lines)
    assert CANARY not in "".join(lines)
    assert key not in "".join(lines)


def test_no_log_has_the_home(proxy: Proxy) -> None:
    """The folder's settings have no secret either."""
    text = Path(proxy.folder / ".env").read_text()
    assert "mun_" not in text
    assert "KEY" not in text
