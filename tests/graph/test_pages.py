"""A real browser before LangGraph's server in development mode: which pages reach it."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Queue
from threading import Thread

import httpx
import pytest

from tests.graph.serving import LOG, served

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
BROWSER = next(filter(None, map(shutil.which, BROWSERS)), None)
CANARY = "Quetzalcoatlus"
# What a page tries: to read by a plain request and by one that asks first, to listen, and to write without reading.
PAGE = """<!doctype html><title>page</title><script>
const server = %(server)s, thread = %(thread)s, told = {};
const json = {"content-type": "application/json"};
const run = {assistant_id: "supervisor", input: {messages: [{role: "user", content: "I live in Faro."}]},
             context: {user: "ana"}};
async function ask(path, options) {
  try { const answer = await fetch(server + path, options); return answer.status + " " + await answer.text(); }
  catch (error) { return "nothing"; }
}
function listen() {
  return new Promise(resolve => {
    let heard = "";
    const socket = new WebSocket(server.replace("http", "ws") + "/threads/" + thread + "/stream/events");
    socket.onopen = () => { heard = "open"; setTimeout(() => { socket.close(); resolve(heard); }, 500); };
    socket.onmessage = event => { heard += event.data; };
    socket.onerror = () => resolve("nothing");
  });
}
(async () => {
  told.plain = await ask("/threads/" + thread);
  told.state = await ask("/threads/" + thread + "/state", {headers: json});
  told.search = await ask("/threads/search", {method: "POST", headers: json, body: "{}"});
  told.socket = await listen();
  await ask("/threads/" + thread + "/runs/wait",
            {method: "POST", mode: %(mode)s, headers: {"content-type": "text/plain"}, body: JSON.stringify(run)});
  await fetch("/told", {method: "POST", body: JSON.stringify(told)});
})();
</script>"""

pytestmark = pytest.mark.skipif(BROWSER is None, reason=f"no browser: install one of {', '.join(BROWSERS)}")


@contextmanager
def hosted(page: str) -> Iterator[tuple[int, Queue[dict[str, str]]]]:
    """The port of a web server of this machine that has one page, and what the page tells it."""
    told: Queue[dict[str, str]] = Queue()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(page.encode())

        def do_POST(self) -> None:
            told.put(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            self._answer(b"")

        def _answer(self, body: bytes) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    web = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=web.serve_forever)
    thread.start()
    try:
        yield web.server_address[1], told
    finally:
        web.shutdown()
        thread.join()
        web.server_close()


def command(profile: Path, *options: str) -> list[str]:
    """A browser for which the name evil.example leads to this machine."""
    assert BROWSER is not None
    return [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}",
            "--host-resolver-rules=MAP evil.example 127.0.0.1",
            "--disable-features=LocalNetworkAccessChecks,BlockInsecurePrivateNetworkRequests", *options]  # fmt: skip


def browse(host: str, server: str, thread: str, profile: Path) -> dict[str, str]:
    """What a page of this host is told by the server."""
    values = {"server": server, "thread": thread, "mode": "no-cors" if host == "evil.example" else "cors"}
    with hosted(PAGE % {name: json.dumps(value) for name, value in values.items()}) as (port, told):
        # With a port for debugging it stays until it is ended.
        url = f"http://{host}:{port}/"
        with (profile.parent / f"{profile.name}.log").open("w") as log:
            browser = subprocess.Popen(command(profile, "--remote-debugging-port=0", url), stdout=log, stderr=log)
        try:
            return told.get(timeout=90)
        finally:
            browser.terminate()
            browser.wait(30)


@pytest.mark.timeout(300)
def test_a_page_of_another_origin_reads_and_writes_nothing(database_url: str, tmp_path: Path) -> None:
    """Neither by requests nor by a WebSocket, and also where its name has been changed to the server's address; a page
    of this machine does."""
    with served(database_url, tmp_path, MUNIMENT_DEVELOPMENT="1") as address:
        with httpx.Client(base_url=address, timeout=60) as client:
            thread = client.post("/threads", json={"metadata": {"title": CANARY}}).json()["thread_id"]
            about = {"messages": [{"role": "user", "content": f"I like {CANARY}."}]}
            run = {"assistant_id": "supervisor", "input": about, "context": {"user": "ana"}}
            assert client.post(f"/threads/{thread}/runs/wait", json=run).status_code == 200
            before = client.get(f"/threads/{thread}/history").json()
            told = browse("evil.example", address, thread, tmp_path / "strange")
            assert told == dict.fromkeys(("plain", "state", "search", "socket"), "nothing")
            assert client.get(f"/threads/{thread}/history").json() == before
            # The name of the page now leads to the server: for the browser it is one origin.
            url = f"{address.replace('127.0.0.1', 'evil.example')}/threads/{thread}"
            shown = subprocess.run(command(tmp_path / "rebound", "--dump-dom", url), capture_output=True, check=True)
            assert CANARY.encode() not in shown.stdout
            assert b"only this machine" in shown.stdout
            own = browse("127.0.0.1", address, thread, tmp_path / "own")
            assert all(CANARY in own[name] for name in ("plain", "state", "search")), own
            assert own["socket"].startswith("open")
        assert "Development mode" in (tmp_path / LOG).read_text()
