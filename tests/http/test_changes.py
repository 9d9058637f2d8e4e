"""What has changed, as pages and as events."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import httpx

from muniment.memory.bootstrap import open_memory
from muniment.memory.config.settings import load_settings
from muniment.memory.domain.scope import Scope
from tests.conftest import alone
from tests.http.conftest import Serving, wait_until
from tests.http.test_endpoints import keep
from tests.http.test_refusals import refuse

EVENTS = {"Accept": "text/event-stream"}


@contextmanager
def follow(client: httpx.Client, **asked: str) -> Iterator[Iterator[int]]:
    """The revisions of the events of a stream."""
    with client.stream("GET", "/memory/changes", headers=EVENTS | asked) as answer:
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "text/event-stream"
        yield (int(line.removeprefix("id: ")) for line in answer.iter_lines() if line.startswith("id: "))


def test_pages_of_changes(serving: Serving, ana: httpx.Client) -> None:
    """Pages have all changes in order, each once, and an agent sees its categories alone."""
    keep(ana, "I want to run a marathon", category="goals")
    keep(ana, "I live in Rome", category="profile")
    page, seen = {"next": 0, "rev": 1}, []
    while page["next"] < page["rev"]:
        page = ana.get("/memory/changes", params={"since": page["next"], "limit": 1}).json()
        seen += [(change["rev"], change["action"], change["memory"]["category"]) for change in page["changes"]]
    assert [rev for rev, _, _ in seen] == list(range(1, page["rev"] + 1))
    assert {("ADD", "goals"), ("ADD", "profile")} <= {(action, category) for _, action, category in seen}
    with serving.client(serving.token(agents=("planner",))) as planner:
        changes = planner.get("/memory/changes").json()["changes"]
        assert {change["memory"]["category"] for change in changes if change["memory"]} == {"goals"}
    refuse(ana.get("/memory/changes", params={"since": 99}), 422)
    refuse(ana.get("/memory/changes", headers=EVENTS | {"Last-Event-ID": "x"}), 422)


def test_a_reset(serving: Serving, ana: httpx.Client) -> None:
    """When the memory is erased, a stream says that a copy begins anew."""

    async def erase() -> None:
        async with open_memory(load_settings(serving.environment)) as memory:
            await memory.admin.erase_space(Scope(tenant=serving.tenant, owner="ana"))

    keep(ana, "I live in Rome", category="profile")
    with ana.stream("GET", "/memory/changes", headers=EVENTS) as answer:
        lines = answer.iter_lines()
        assert next(line for line in lines if line.startswith("id: ")) == "id: 1"
        alone(erase())
        assert next(line for line in lines if line.startswith("event: reset"))


def test_streams_of_a_token(serving: Serving) -> None:
    """A token follows ten streams at once; one more is refused until one ends, and other tokens are not concerned."""
    token = serving.token()
    with serving.client(token) as ana, ExitStack() as streams:
        ends = [streams.enter_context(ExitStack()) for _ in range(10)]
        for end in ends:
            end.enter_context(follow(ana))
        error = refuse(ana.get("/memory/changes", headers=EVENTS), 429)
        assert error["type"] == "TooManyStreams"
        assert ana.get("/memory/changes").status_code == 200
        with serving.client(serving.token()) as other, follow(other):
            pass
        ends[0].close()
        wait_until(lambda: try_follow(ana))


def try_follow(client: httpx.Client) -> bool:
    """Whether one more stream may be opened, which is closed at once."""
    with client.stream("GET", "/memory/changes", headers=EVENTS) as answer:
        return answer.status_code == 200


def test_a_stream(own_serving: Serving) -> None:
    """A stream has what was there and what comes, goes on behind the last event, and ends with the service."""
    serving = own_serving
    with serving.client(serving.token()) as ana:
        keep(ana, "I live in Rome", category="profile")
        rev = ana.get("/memory/changes").json()["rev"]
        with serving.client(serving.token()) as other, follow(other) as revisions:
            assert [next(revisions) for _ in range(rev)] == list(range(1, rev + 1))
            keep(ana, "Kafka is a queue", category="knowledge")
            assert next(revisions) == rev + 1
    with serving.client(serving.token()) as other, follow(other, **{"Last-Event-ID": str(rev)}) as revisions:
        assert next(revisions) == rev + 1
        rest: list[int] = []
        reader = threading.Thread(target=lambda: rest.extend(revisions))
        reader.start()
        assert serving.stop() == 0
        reader.join(20)
        assert not reader.is_alive()
        assert rest == []
