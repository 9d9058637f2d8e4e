"""Users, applications and projects are apart, also by row-level security alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.resources import files

import pytest

from muniment.memory.domain.scope import make_gateway_scope
from muniment.memory.stores.postgres import search
from muniment.memory.stores.postgres.sql import load_blocks
from tests.gateway.conftest import Client, Host

CONDITION = re.compile(r"(?:[a-z]+\.)?space_id = %\(space\)s")  # of the engine, on the space
MARKS = ("Quillon", "Marzipan", "Zirconel", "Palladio", "Obsidian")


@pytest.fixture
def without_conditions(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The engine without its own conditions on the space."""
    for path in files("muniment.memory.stores.postgres.sql").iterdir():
        if path.name.endswith(".sql"):
            blocks = load_blocks(path.name.removesuffix(".sql"))
            for name, text in blocks.items():
                monkeypatch.setitem(blocks, name, CONDITION.sub("true", text))
    search._build_statement.cache_clear()
    yield
    search._build_statement.cache_clear()


async def make_parties(host: Host) -> dict[str, Client]:
    """Two users, and one of them in two applications and two projects, in chats of the same name."""
    ana, ben = await host.make_client(), await host.make_client("ben")
    clients = (ana, ben, ana.within(app="mail"), ana.within(project="atlas"), ana.within("mail", "atlas"))
    return dict(zip(MARKS, clients, strict=True))


async def fill(parties: dict[str, Client]) -> None:
    for mark, client in parties.items():
        await client.add(f"My friend {mark} lives in Rome.", f"The pipeline of {mark} waits for the audit.")
        assert await client.flush() == "extracted"


async def check_apart(parties: dict[str, Client]) -> None:
    for mark, client in parties.items():
        seen = set[str]()
        for query in (f"Where do my friends live, {' and '.join(MARKS)}?", f"Which pipeline? {' '.join(MARKS)}", "*"):
            for scopes in (["all_user_memory"], ["current_chat"], ["current_chat", "resources", "all_user_memory"]):
                for one in await client.search(query, "c1", *scopes, top_k=50):
                    seen |= {each for each in MARKS if each in str(one)}
        assert seen == {mark}


async def test_two_users_two_apps_two_projects(host: Host) -> None:
    """Chats of one name, the same words, at once."""
    parties = await make_parties(host)
    await fill(parties)
    await check_apart(parties)
    spaces = {make_gateway_scope(one.user, one.app, one.project).space for one in parties.values()}
    assert len(spaces) == len(MARKS)


async def test_by_row_level_security_alone(host: Host, without_conditions: None) -> None:
    """Reads and writes without the engine's own conditions."""
    parties = await make_parties(host)
    await fill(parties)
    await check_apart(parties)


async def test_what_another_user_added_is_new(host: Host) -> None:
    """The same messages of two users are known to each by its own space."""
    ana, ben = await host.make_client(), await host.make_client("ben")
    body = ana.add_body("I live in Rome.")
    assert (await ana.post("add", body)).json()["added"] == 1
    assert (await ben.post("add", body | ben.identity)).json()["added"] == 1


async def test_the_default_is_the_users_own_memory(host: Host, ana: Client) -> None:
    """What another face keeps for the user is found in the application and project `default` alone."""
    await host.memory.remember(make_gateway_scope("ana"), "The code of room 12 is blue")
    question = "What is the code of room 12?"
    assert len(await ana.search(question, "c1", "all_user_memory")) == 1
    assert await ana.within(app="mail").search(question, "c1", "all_user_memory") == []


async def test_a_slash_makes_no_other_owner(host: Host) -> None:
    """A token of an owner that looks like a user in an application is no key of the gateway."""
    odd = await host.make_client("ana/mail/default")
    assert (await odd.post("search", odd.search_body("Where?"))).status_code == 401
