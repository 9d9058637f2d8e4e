"""The loop of an agent with both memories well: what its model is sent, and what its gateway gets."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from langchain_core.tools import tool

from muniment.agent.gateway_reference import LABEL, REFERENCE_RULE
from muniment.agent.transcript import SEARCH_TOOL
from muniment.nodes.hybrid.toolbox import SKILL_TOOL
from muniment.testing import ScriptedOpenAI, tool_call
from tests.agent.talk import (
    KEY,
    MEMORY_MD,
    USER_MD,
    gateway_section,
    list_tool_names,
    open_agent,
    read_messages,
)
from tests.gateways import ADD, FLUSH, SEARCH, RecordingGateway

RECALLED = {"id": "m1", "session_id": "chat:old", "text": "The deploy region is eu-west-3.", "score": 0.9}
ADD_ENTRY = {"target": "memory", "action": "add", "content": "Releases are signed."}


@tool
def look_up(word: str) -> str:
    """Look a word up."""
    return f"CANARY_TOOL_RESULT of {word}"


async def ask_once(
    database_url: str, folder: Path, memory: dict[str, Any] | None, *, reply: Any = "Fine.", **more: Any
) -> tuple[ScriptedOpenAI, str]:
    """One run of an agent of its own: the model's server, which has stopped, and the answer."""
    folder.mkdir(exist_ok=True)
    with ScriptedOpenAI(reply=reply) as model:
        async with open_agent(database_url, folder, model, memory, **more) as agent:
            state = await agent.say("Which region?")
    return model, str(state["messages"][-1].text)


async def test_b128_the_snapshot_and_the_tool_are_there_in_both_modes(database_url: str, tmp_path: Path) -> None:
    """The curated blocks are the same bytes in both modes, and `memory` is a tool of both."""
    with RecordingGateway([RECALLED]) as gateway:
        hybrid, _ = await ask_once(database_url, tmp_path / "h", gateway_section(gateway.base_url))
    curated, _ = await ask_once(database_url, tmp_path / "c", {"mode": "curated"})
    degraded, _ = await ask_once(database_url, tmp_path / "d", None)
    systems = [read_messages(each)[0]["content"] for each in (hybrid, curated, degraded)]
    assert systems[1] == systems[2]
    assert systems[0] == f"{systems[1]}\n\n{REFERENCE_RULE}"
    for entry in (*MEMORY_MD.split("\n§\n"), USER_MD):
        assert entry.strip() in systems[1]
    for each in (hybrid, curated, degraded):
        assert list_tool_names(each)[0] == "memory"
        assert SEARCH_TOOL in list_tool_names(each)
        assert SKILL_TOOL not in list_tool_names(each)  # there are no skills


async def test_b129_the_search_comes_before_the_model(database_url: str, tmp_path: Path) -> None:
    """When the model is asked, the gateway has been searched, once, and has got nothing else."""
    seen: list[list[str]] = []

    def reply(_: dict[str, Any]) -> str:
        seen.append(gateway.paths)
        return "Ok."

    with RecordingGateway([RECALLED]) as gateway, ScriptedOpenAI(reply=reply) as model:
        async with open_agent(database_url, tmp_path, model, gateway_section(gateway.base_url)) as agent:
            await agent.say("Which region?", session="s1")
    assert seen == [[SEARCH]]
    assert MEMORY_MD.partition("\n")[0] in read_messages(model)[0]["content"]
    body = gateway.requests[0].body
    assert (body["conversation_id"], body["query"], body["scope"]) == (
        "s1",
        "Which region?",
        ["current_chat", "resources"],
    )
    assert gateway.complaints == []


async def test_b130_the_reference_stands_before_history_and_prompt(database_url: str, tmp_path: Path) -> None:
    """One labelled message of the user's role, in each request of a run, behind active skills; never in the history."""
    replies: list[Any] = [
        "First answer.",
        tool_call(SKILL_TOOL, {"name": "deploy"}),
        tool_call("look_up", {"word": "region"}),
        "Done.",
    ]
    skills = {"deploy": "CANARY_SKILL: always name the region."}
    with RecordingGateway([RECALLED]) as gateway, ScriptedOpenAI(reply=replies) as model:
        section = gateway_section(gateway.base_url)
        async with open_agent(database_url, tmp_path, model, section, tools=[look_up], skills=skills) as agent:
            await agent.say("Hello.")
            await agent.say("Which region?")
            thread = (await agent.graph.aget_state({"configurable": {"thread_id": "a"}})).values["messages"]
    first, second, third, last = (read_messages(model, n) for n in range(4))
    assert [message["role"] for message in first] == ["system", "user", "user"]
    reference = first[1]["content"]
    assert reference.startswith(LABEL)
    assert RECALLED["text"] in reference
    assert [message["content"] for message in second[1:]] == [reference, "Hello.", "First answer.", "Which region?"]
    activation = third[1]["content"]
    assert "CANARY_SKILL" in activation
    assert third[2:6] == second[1:]
    assert third[6]["tool_calls"][0]["function"]["name"] == SKILL_TOOL
    assert last[: len(third)] == third
    assert "CANARY_TOOL_RESULT" in last[-1]["content"]
    assert all(RECALLED["text"] not in request[0]["content"] for request in (first, second, third, last))
    assert [message.text for message in thread] == ["Hello.", "First answer.", "Which region?", "Done."]
    assert gateway.paths == [SEARCH, ADD, FLUSH] * 2


async def test_b131_the_rule_is_there_only_with_a_gateway(database_url: str, tmp_path: Path) -> None:
    """It is the same in each run, also where nothing was recalled; without a gateway there is none."""
    with RecordingGateway() as gateway, ScriptedOpenAI(reply="Fine.") as model:
        async with open_agent(database_url, tmp_path, model, gateway_section(gateway.base_url)) as agent:
            await agent.say("One.")
            gateway.results = [RECALLED]
            await agent.say("Two.")
    assert read_messages(model, 0)[0] == read_messages(model, 1)[0]
    assert read_messages(model, 0)[0]["content"].endswith(REFERENCE_RULE)
    assert [message["content"] for message in read_messages(model, 0)[1:]] == ["One."]  # nothing recalled, no section
    for number, memory in enumerate(({"mode": "curated"}, None)):
        other, _ = await ask_once(database_url, tmp_path / str(number), memory)
        assert LABEL not in json.dumps(other.requests[0].body)


async def test_b132_one_add_and_one_flush_after_the_answer(database_url: str, tmp_path: Path) -> None:
    """The add has the prompt and the final text with rising times, the flush the same identity."""
    seen: list[list[str]] = []
    replies = iter([tool_call("memory", ADD_ENTRY), "It is eu-west-3."])

    def reply(_: dict[str, Any]) -> Any:
        seen.append(gateway.paths)
        return next(replies)

    with RecordingGateway([RECALLED]) as gateway, ScriptedOpenAI(reply=reply) as model:
        async with open_agent(database_url, tmp_path, model, gateway_section(gateway.base_url)) as agent:
            await agent.say("  Which region?  ", session="s1")
            events = await agent.read_events("s1")
    assert seen == [[SEARCH], [SEARCH]]
    assert gateway.paths == [SEARCH, ADD, FLUSH]
    assert gateway.complaints == []
    body = gateway.requests[1].body
    asked, answered = body.pop("messages")
    assert body == {
        "user_id": "ana",
        "user_key": KEY,
        "session_id": "chat:s1",
        "app_id": "default",
        "project_id": "default",
    }
    assert gateway.requests[2].body == body
    assert (asked["sender_id"], asked["role"], asked["content"]) == ("ana", "user", "  Which region?  ")
    assert (answered["sender_id"], answered["role"], answered["content"]) == ("beaver", "assistant", "It is eu-west-3.")
    assert 0 < asked["timestamp"] < answered["timestamp"]
    assert events == [
        ("memory_gateway_recall_succeeded", {"scopes": ["current_chat", "resources"], "result_count": 1}),
        ("memory_gateway_add_succeeded", {"session_id": "chat:s1", "message_count": 2}),
        ("memory_gateway_flush_succeeded", {"session_id": "chat:s1"}),
    ]


async def test_b133_nothing_but_prompt_and_answer_is_added(database_url: str, tmp_path: Path) -> None:
    """A canary in tools, reasoning, skills, curated files, reference, instructions: none of them in the add's body."""
    recalled = {"text": "CANARY_RECALLED region."}
    replies = [
        tool_call(SKILL_TOOL, {"name": "deploy"}),
        {
            "content": "CANARY_INTERIM",
            "tool_calls": tool_call("look_up", {"word": "CANARY_ARGUMENT"})["tool_calls"],
        },
        {"content": "<think>CANARY_THOUGHT</think>The answer.", "reasoning_content": "CANARY_REASONING"},
    ]
    with RecordingGateway([recalled]) as gateway, ScriptedOpenAI(reply=replies) as model:
        async with open_agent(
            database_url,
            tmp_path,
            model,
            gateway_section(gateway.base_url),
            tools=[look_up],
            skills={"deploy": "CANARY_SKILL body."},
            instructions="CANARY_INSTRUCTIONS: be kind.",
        ) as agent:
            (agent.folder / "MEMORY.md").write_text("CANARY_CURATED note.\n")
            await agent.say("What is it?")
    sent = json.dumps([request.body for request in model.requests])
    for word in ("RECALLED", "SKILL", "INSTRUCTIONS", "CURATED", "TOOL_RESULT", "ARGUMENT"):
        assert f"CANARY_{word}" in sent  # it was there to be leaked
    assert gateway.paths == [SEARCH, ADD, FLUSH]
    assert all(b"CANARY" not in request.raw for request in gateway.requests)
    assert [message["content"] for message in gateway.requests[1].body["messages"]] == ["What is it?", "The answer."]


async def test_b135_hidden_events_hold_no_key(database_url: str, tmp_path: Path) -> None:
    """Neither the events nor any row of the ledger has the key of the gateway."""
    with RecordingGateway([RECALLED]) as gateway:
        model, _ = await ask_once(database_url, tmp_path, gateway_section(gateway.base_url))
        with ScriptedOpenAI() as again:
            async with open_agent(database_url, tmp_path, again, gateway_section(gateway.base_url)) as agent:
                turns = await agent.read_turns()
    assert [turn.kind for turn in turns] == ["transcript", "audit", "transcript", "audit", "audit"]
    assert all(not turn.visible for turn in turns if turn.kind == "audit")
    assert KEY not in repr(turns)
    assert KEY not in json.dumps([request.body for request in model.requests])


async def test_b136_the_curated_tool_asks_no_gateway(database_url: str, tmp_path: Path) -> None:
    """Adding, replacing and removing entries sends nothing: the gateway sees the three requests of a run."""
    calls = [
        ADD_ENTRY,
        {"target": "memory", "action": "replace", "old_text": "signed", "content": "Releases are signed twice."},
        {"target": "memory", "action": "remove", "old_text": "signed twice"},
        {"target": "user", "action": "add", "content": "The user lives in Porto."},
    ]
    replies: list[Any] = [*(tool_call("memory", each) for each in calls), "Kept."]
    with RecordingGateway() as gateway, ScriptedOpenAI(reply=replies) as model:
        async with open_agent(database_url, tmp_path, model, gateway_section(gateway.base_url)) as agent:
            await agent.say("Keep that.")
            files = agent.read_files()
    assert gateway.paths == [SEARCH, ADD, FLUSH]
    assert b"Porto" in files["USER.md"]
    assert b"signed" not in files["MEMORY.md"]
    # The snapshot of a run is frozen: what the tool has written is seen by the next one.
    assert all("Porto" not in read_messages(model, n)[0]["content"] for n in range(len(replies)))


async def test_b137_the_gateway_changes_no_curated_file(database_url: str, tmp_path: Path) -> None:
    """The files keep their bytes through recall, add and flush."""
    with RecordingGateway([RECALLED]) as gateway, ScriptedOpenAI() as model:
        async with open_agent(database_url, tmp_path, model, gateway_section(gateway.base_url)) as agent:
            before = {name: hashlib.sha256(data).hexdigest() for name, data in agent.read_files().items()}
            await agent.say("Which region?")
            assert gateway.paths == [SEARCH, ADD, FLUSH]
            assert {name: hashlib.sha256(data).hexdigest() for name, data in agent.read_files().items()} == before


@pytest.mark.parametrize("mode", ["curated", "no section", "no credentials"])
async def test_b138_without_a_gateway_nothing_is_sent(database_url: str, tmp_path: Path, mode: str) -> None:
    """In curated mode, whatever its gateway block says, and in degraded implicit hybrid: no request, no event."""
    with RecordingGateway([RECALLED]) as gateway, ScriptedOpenAI(reply="Fine.") as model:
        block = {"baseUrl": gateway.base_url, "userId": "ana"}
        memory = {
            "curated": {"mode": "curated", "gateway": block | {"userKey": KEY}},
            "no section": None,
            "no credentials": {"gateway": block},
        }[mode]
        async with open_agent(database_url, tmp_path, model, memory) as agent:
            assert len(agent.runtime.warnings) == (mode != "curated")
            await agent.say("Which region?")
            assert [turn.kind for turn in await agent.read_turns()] == ["transcript", "transcript"]
    assert gateway.requests == []
    assert [message["content"] for message in read_messages(model)[1:]] == ["Which region?"]


async def test_the_same_fact_of_both_layers_reaches_the_model(database_url: str, tmp_path: Path) -> None:
    """Two values of one fact: neither is dropped, changed or preferred."""
    with RecordingGateway([RECALLED]) as gateway, ScriptedOpenAI() as model:
        async with open_agent(database_url, tmp_path, model, gateway_section(gateway.base_url)) as agent:
            (agent.folder / "MEMORY.md").write_text("The deploy region is us-east-1.\n")
            await agent.say("Which region?")
    messages = read_messages(model)
    assert "The deploy region is us-east-1." in messages[0]["content"]
    assert RECALLED["text"] in messages[1]["content"]


async def test_the_tool_limit_ends_with_an_answer_that_is_persisted(database_url: str, tmp_path: Path) -> None:
    """A model that calls tools without end gets as many as the limit; the fallback is an answer like any other."""
    with RecordingGateway() as gateway, ScriptedOpenAI(reply=tool_call("look_up", {"word": "x"})) as model:
        section = gateway_section(gateway.base_url)
        async with open_agent(database_url, tmp_path, model, section, tools=[look_up], toolLimit=3) as agent:
            state = await agent.say("Look it up.")
            turns = await agent.read_turns()
    answer = str(state["messages"][-1].text)
    assert "more than 3 tool calls" in answer
    assert len(model.requests) == 4
    assert [turn.kind for turn in turns].count("tool") == 3
    assert gateway.paths == [SEARCH, ADD, FLUSH]
    assert gateway.requests[1].body["messages"][1]["content"] == answer
