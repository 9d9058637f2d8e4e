"""Keys: wrong ones are all alike, and each permits what a token does."""

from __future__ import annotations

from dataclasses import replace

import httpx
import pytest

from muniment.memory.bootstrap import Tokens
from muniment.memory.domain.scope import Grant, make_gateway_scope
from muniment.memory.stores.postgres.operation.tokens import PostgresTokens
from muniment.testing.fakes import FixedClock
from tests.gateway.conftest import Client, Host, open_host

UNKNOWN = "mun_" + "A" * 43


async def ask(client: Client) -> httpx.Response:
    return await client.post("search", client.search_body("Where?"))


def wrong(ana: Client, ben: Client) -> dict[str, Client]:
    """All ways of not being somebody."""
    return {
        "unknown user": replace(ana, user="nobody"),
        "another user": replace(ana, user="ben"),
        "another's key": replace(ana, key=ben.key),
        "unknown key": replace(ana, key=UNKNOWN),
        "no key": replace(ana, key="x"),
        "unknown user and key": replace(ana, user="nobody", key=UNKNOWN),
        "space": replace(ana, user="ana "),
        "case": replace(ana, user="Ana"),
    }


async def test_wrong_user_and_wrong_key_are_alike(host: Host, ana: Client) -> None:
    """The status, the headers and the body do not say which of the two was wrong."""
    ben = await host.make_client("ben")
    assert (await ask(ana)).status_code == 200  # from here on it is cached
    said = set()
    for what, client in wrong(ana, ben).items():
        for path, body in (
            ("search", client.search_body("Where?")),
            ("add", client.add_body("I live in Rome.")),
            ("flush", client.flush_body()),
        ):
            answer = await client.post(path, body)
            assert answer.status_code == 401, what
            error = answer.json()["error"]
            request_id = error.pop("request_id")
            assert answer.headers.pop("x-request-id") == request_id
            said.add((str(error), str(sorted(answer.headers.items()))))
    assert len(said) == 1
    assert await host.memory.list(make_gateway_scope("ana")) == []


class CountingTokens(PostgresTokens):
    """The real store, which counts how often it is asked."""

    asked = 0

    async def find_grant(self, digest: bytes) -> Grant | None:
        self.asked += 1
        return await super().find_grant(digest)


async def test_each_refusal_is_the_same_work(host: Host, ana: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is wrong, the database is asked once; what is right is answered from the cache."""
    ben, digests = await host.make_client("ben"), list[str]()
    counting = CountingTokens(host.tokens.store.connections)  # type: ignore[attr-defined] # of the real store
    hash_ = Tokens._hash

    def count_hash(tokens: Tokens, token: str) -> bytes:
        digests.append(token)
        return hash_(tokens, token)

    monkeypatch.setattr(Tokens, "_hash", count_hash)
    object.__setattr__(host.tokens, "store", counting)
    for client in (ana, ben):
        assert (await ask(client)).status_code == 200
    for what, client in wrong(ana, ben).items():
        counting.asked, before = 0, len(digests)
        assert (await ask(client)).status_code == 401
        assert (counting.asked, len(digests) - before) == (1, 1), what
    counting.asked = 0
    assert (await ask(ana)).status_code == 200
    assert counting.asked == 0


async def test_what_a_token_permits(host: Host) -> None:
    """A key may do what its token may: read alone, for the gateway's agent, with an end."""
    reader = await host.make_client("ana", scopes=("read",))
    assert (await ask(reader)).status_code == 200
    assert (await reader.post("add", reader.add_body("I live in Rome."))).status_code == 403
    assert (await reader.post("flush", reader.flush_body())).status_code == 403
    writer = await host.make_client("ana", scopes=("write",))
    assert (await writer.post("add", writer.add_body("I live in Rome."))).status_code == 200
    assert (await ask(writer)).status_code == 403
    for agents, status in (((), 200), (("supervisor",), 200), (("planner", "supervisor"), 200), (("stylist",), 403)):
        client = await host.make_client("ana", agents=agents)
        assert (await ask(client)).status_code == status, agents
    nobody = await host.make_client(None)  # type: ignore[arg-type] # a token that speaks for no user by itself
    assert (await ask(replace(nobody, user="ana"))).status_code == 401


async def test_of_another_tenant(host: Host, ana: Client) -> None:
    """A user of the same name in another tenant is somebody else."""
    other = await host.make_client("ana", tenant="acme")
    await ana.add("I live in Rome.")
    assert await other.search("Where do I live?") == []
    assert len(await ana.search("Where do I live?")) == 1


async def test_revoked(host: Host, ana: Client) -> None:
    """A revoked key is as one that never was."""
    assert (await ask(ana)).status_code == 200
    [grant] = await host.issuer.list_grants()
    await host.issuer.revoke_token(grant.id)
    async with open_host(host.settings) as fresh:  # nothing is cached there
        answer = await ask(replace(ana, http=fresh.http))
        unknown = await ask(replace(ana, http=fresh.http, key=UNKNOWN))
    assert (answer.status_code, unknown.status_code) == (401, 401)
    assert answer.json()["error"]["message"] == unknown.json()["error"]["message"]


async def test_a_revoked_key_ends_in_time(host: Host, ana: Client) -> None:
    """A process that knows a key refuses it 30 seconds after it was revoked."""
    clock = FixedClock(host.memory.now())
    object.__setattr__(host.tokens, "clock", clock)
    assert (await ask(ana)).status_code == 200
    [grant] = await host.issuer.list_grants()
    await host.issuer.revoke_token(grant.id)
    clock.advance(31)
    assert (await ask(ana)).status_code == 401


async def test_too_often(host: Host, ana: Client) -> None:
    """Who asks too often waits; others do not."""
    rules = host.settings.serve.model_copy(update={"requests_per_second": 1, "burst": 2})
    ben = await host.make_client("ben")
    async with open_host(host.settings.model_copy(update={"serve": rules})) as slow:
        ana, ben = (replace(one, http=slow.http) for one in (ana, ben))
        answers = [await ask(ana) for _ in range(4)]
        assert [one.status_code for one in answers][:2] == [200, 200]
        assert answers[-1].status_code == 429
        assert int(answers[-1].headers["retry-after"]) >= 1
        assert (await ask(ben)).status_code == 200
