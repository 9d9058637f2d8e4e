"""Profile, episodes and skills over real HTTP: read-only but for the review."""

import asyncio

import httpx
import pytest

from muniment.memory.bootstrap import create_memory
from muniment.memory.config.settings import load_settings
from muniment.memory.domain.scope import Scope
from tests.http.conftest import Serving
from tests.sessions import PARSER, session

READ_ONLY = ("/v1/user-memory/profile", "/v1/user-memory/episodes", "/v1/skill-proposals")


def find_skill(serving: Serving) -> None:
    """Let an agent of the user find out how something is done."""
    settings = load_settings(serving.environment)

    async def work() -> None:
        scope = Scope(tenant=serving.tenant, owner="ana", thread="A", session="A")
        async with create_memory(settings) as memory:
            await memory.conversation.record(scope, session(PARSER))
            await memory.conversation.learn_path(scope)

    asyncio.run(work())


def test_profile_and_episodes(serving: Serving, ana: httpx.Client) -> None:
    """Each has its own; an agent's token sees the categories of the agent, and as of a revision it is as it was."""
    for text in ("I live in Porto", "I live in Oslo now", "I moved to Rome in March 2024."):
        assert ana.post("/memories", json={"text": text}).status_code in (200, 201)
    profile = ana.get(READ_ONLY[0]).json()["projections"]
    homes = {each["key"]: each["data"]["value"] for each in profile}
    assert homes["lives_in"] in ("Oslo", "Rome")
    then = ana.get(READ_ONLY[0], params={"as_of": "1"}).json()["projections"]
    assert [each["data"]["value"] for each in then] == ["Porto"]
    [episode] = ana.get(READ_ONLY[1]).json()["projections"]
    assert episode["data"]["at"].startswith("2024-03")
    assert [each["type"] for each in profile] == ["user_profile"] * len(profile)
    with serving.client(serving.token(agents=("stylist",))) as stylist:
        assert stylist.get(READ_ONLY[0]).json()["projections"] == []
    with serving.client(serving.token(owner="ben")) as ben:
        assert ben.get(READ_ONLY[0]).json()["projections"] == []


@pytest.mark.parametrize("path", READ_ONLY)
def test_nothing_is_written_by_these_addresses(ana: httpx.Client, path: str) -> None:
    """Any other verb is refused."""
    for verb in ("POST", "PUT", "PATCH", "DELETE"):
        answer = ana.request(verb, path)
        assert (answer.status_code, answer.json()["error"]["type"]) == (405, "MethodNotAllowed"), verb


@pytest.mark.parametrize("path", [*READ_ONLY, "/v1/user-memory/search", "/v1/sessions"])
def test_a_parameter_that_is_not_known(ana: httpx.Client, path: str) -> None:
    """It is refused with what is allowed: one that is misspelled would narrow nothing."""
    known = {"agent": "supervisor", "query": "tea"} if path.endswith("search") else {}
    assert ana.get(path, params=known).status_code == 200
    refused = ana.get(path, params={**known, "fact_knid": "preference"})
    assert refused.status_code == 422
    assert "allowed: " in refused.json()["error"]["message"]
    assert "fact_knid" not in refused.text
    assert ana.get("/health", params={"probe": "1"}).status_code == 200


def test_a_review(serving: Serving, ana: httpx.Client) -> None:
    """What was found is published and rejected; a second yes is refused, and another's is not there."""
    find_skill(serving)
    [skill] = ana.get(READ_ONLY[2]).json()["projections"]
    assert (skill["status"], len(skill["data"]["steps"])) == ("pending", len(skill["data"]["steps"]))
    path = f"/v1/skill-proposals/{skill['id']}/review"
    with serving.client(serving.token(owner="ben")) as ben:
        assert ben.post(path, json={"decision": "publish"}).status_code == 404
    assert ana.post(path, json={"decision": "perhaps"}).status_code == 422
    assert ana.get(path).status_code == 405
    done = ana.post(path, json={"decision": "publish"})
    assert [change["id"] for change in done.json()["changes"]] == [skill["memory"]]
    assert ana.post(path, json={"decision": "publish"}).status_code == 422
    assert [each["status"] for each in ana.get(READ_ONLY[2]).json()["projections"]] == ["active"]
    assert ana.post(path, json={"decision": "reject"}).status_code == 200
    assert ana.get(READ_ONLY[2]).json()["projections"] == []
    [rejected] = ana.get(READ_ONLY[2], params={"status": "rejected"}).json()["projections"]
    assert rejected["id"] == skill["id"]
