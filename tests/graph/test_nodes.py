"""The parts of the graph that need no graph: whose turn it is, the tool's schema, the words without a model."""

from __future__ import annotations

import re
from typing import Any, Literal, cast

import pytest
from langgraph.runtime import Runtime, ServerInfo

from muniment.memory import bootstrap
from muniment.memory.config.settings import load_settings
from muniment.memory.errors import BadConfig, BadInput, Denied
from muniment.memory.payload import build_parameters
from muniment.memory.query_codec import FILTER_KINDS
from muniment.nodes import prompts, supervisor
from muniment.nodes.entry import resolve_scope
from muniment.nodes.state import State, Who
from muniment.nodes.tools import SUBAGENTS, Toolbox
from tests.engine import scope as memory_scope

PROFILE = "- The user is lactose intolerant\n- The user lives in Lisbon"


class Login(dict[str, str]):
    """A user as the server hands it over: a mapping with an identity."""

    @property
    def identity(self) -> str:
        return self["identity"]


def runtime(who: Who | None = None, **user: str) -> Runtime[Who]:
    """A run as the server starts it; `user` is the one who is logged in."""
    login = ServerInfo(assistant_id="a", graph_id="supervisor", user=cast("Any", Login(user)) if user else None)
    return Runtime(context=cast("Who", who), server_info=login)


def test_nobody_in_particular_is_me_at_the_servers_tenant() -> None:
    """Without a context a run is of the default user of the server's own tenant, in LangGraph's thread."""
    who = resolve_scope(runtime(), {"configurable": {"thread_id": "t"}}, "acme")
    assert (who.owner, who.tenant, who.thread, who.session) == ("me", "acme", "t", "t")


def test_a_login_brings_its_tenant() -> None:
    """The user and the tenant of a login win over the defaults; a context may repeat them."""
    for given in (None, Who(user="ana"), Who(user="ana", tenant="globex")):
        who = resolve_scope(runtime(given, identity="ana", tenant="globex"), {}, "acme")
        assert (who.owner, who.tenant) == ("ana", "globex")


@pytest.mark.parametrize("given", [Who(user="bob"), Who(tenant="acme"), Who(user="ana", tenant="acme")])
def test_a_login_cannot_be_talked_away(given: Who) -> None:
    """A context that names another user or tenant than the login is denied."""
    with pytest.raises(Denied):
        resolve_scope(runtime(given, identity="ana", tenant="globex"), {}, "acme")


def test_an_empty_user_is_nobody() -> None:
    """A blank user is refused; it would be a space that everybody shares by accident."""
    with pytest.raises(BadInput):
        resolve_scope(runtime(Who(user=" ")), {}, "acme")


@pytest.mark.parametrize(
    ("required", "on_server", "is_refused"),
    [("always", False, True), ("server", False, False), ("server", True, True), ("never", True, False)],
)
def test_where_a_run_has_to_name_its_user(
    required: Literal["always", "server", "never"], on_server: bool, is_refused: bool
) -> None:
    """By default on LangGraph's server: there a run that names nobody would be in a memory that all of them share."""
    server = ServerInfo("", "") if on_server else None
    for who in (None, Who(), Who(user="me")):
        named = Runtime(context=cast("Who", who), server_info=server)
        if is_refused:
            with pytest.raises(BadInput, match="user is missing"):
                resolve_scope(named, {}, "acme", required)
        else:
            assert resolve_scope(named, {}, "acme", required).owner == "me"
    assert resolve_scope(Runtime(context=Who(user="ana"), server_info=server), {}, "acme", required).owner == "ana"
    logged_in = runtime(Who(), identity="ana")
    assert resolve_scope(logged_in, {}, "acme", required).owner == "ana"


@pytest.mark.parametrize("wrong", [{"user": None}, {"user": 5}, {"user": ["ana"]}, {"tenant": 5}, {"project": ["x"]}])
def test_a_context_of_wrong_types_is_refused(wrong: dict[str, Any]) -> None:
    """Also where somebody is logged in; a caller whose user is unknown is not everybody's `me`."""
    for login in ({}, {"identity": "ana"}):
        with pytest.raises(BadInput, match=f"context: {min(wrong)}"):
            resolve_scope(runtime(Who(**wrong), **login), {}, "acme")


@pytest.mark.parametrize("agent", ["supervisor", *SUBAGENTS])
def test_the_schema_offers_what_the_agent_may_read(agent: str) -> None:
    """The categories are the agent's own, and nothing in the schema names an agent or a user."""
    settings = load_settings({})
    schema = build_parameters(settings, agent)
    fields: dict[str, Any] = schema["properties"]
    assert set(fields) == {"query", "categories", "top_k", "return"}
    assert set(fields["categories"]["items"]["enum"]) == set(settings.allowlists[agent])
    assert schema["additionalProperties"] is False
    whole = build_parameters(settings, agent, full=True)["properties"]
    assert set(whole) == {*fields, "filters", "budget_tokens", "threshold", "explain"}
    assert set(whole["categories"]["items"]["enum"]) == set(settings.allowlists[agent])
    named = set(re.findall(r"\w+", whole["filters"]["description"]))
    assert FILTER_KINDS.keys() - named == {"user_id"}


def test_each_tool_has_a_name_that_providers_take() -> None:
    """Letters, digits, `_` and `-`, at most 64 of them; the first tool is `memory_query`."""
    settings = load_settings({"MUNIMENT_EMBEDDER": "hash-256"})
    box = Toolbox(
        memory=bootstrap.create_memory(settings),
        settings=settings,
        scope=memory_scope(),
        agent="supervisor",
        colleagues=SUBAGENTS,
    )
    names = [tool.name for tool in box.tools]
    assert names[0] == "memory_query"
    assert len(set(names)) == 1 + len(SUBAGENTS)
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) for name in names)


def test_instructions_are_without_their_version() -> None:
    """The first line of a prompt file is its version and is not said; an agent without a file is a BadConfig."""
    for name in ("supervisor", *SUBAGENTS):
        assert prompts.load_prompt(name)
        assert not prompts.load_prompt(name).startswith(name)
    with pytest.raises(BadConfig):
        prompts.load_prompt("nobody")


@pytest.mark.parametrize(
    ("text", "state", "said"),
    [
        ("Where do I live?", State(stable=PROFILE), "From memory:\n- The user lives in Lisbon"),
        ("Which race?", State(bullets=["[goals] A race"]), "From memory:\n- [goals] A race"),
        ("Which race?", State(bullets=["[goals] A\n- [goals] race"]), "From memory:\n- [goals] A - [goals] race"),
        ("Who is Zoe?", State(stable=PROFILE),
            f"I have nothing in memory about that.\n\nWhat I do know about you:\n{PROFILE}"),
        ("Who is Zoe?", State(), "I have nothing in memory about that."),
        ("我住在哪里？", State(stable="- 用户住在里斯本"), "From memory:\n- 用户住在里斯本"),
        ("Good morning.", State(header="Memory updates since rev 1:\n- x"), "Memory updates since rev 1:\n- x\n\n"),
        ("I ran.", State(bullets=["[goals] A race"]),
            "I have read that. What I remember that may bear on it:\n- [goals]"),
        (" ", State(), "Your message has no text"),
    ],
)  # fmt: skip
def test_without_a_model_memory_is_quoted(text: str, state: State, said: str) -> None:
    """A question gets what is remembered, a statement an honest acknowledgement."""
    assert supervisor.compose_reply(state, text).startswith(said)


@pytest.mark.parametrize("who", [Who(user="a\x00b"), Who(user="\udcff"), Who(tenant="\x00"), Who(thread="x" * 501)])
def test_a_name_that_cannot_be_stored(who: Who) -> None:
    """It is refused where it comes in, whatever it would have broken later."""
    with pytest.raises(BadInput, match="context: "):
        resolve_scope(runtime(who), {}, "acme")


def test_a_run_reads_then_or_now() -> None:
    """Another word is refused, and not taken for one of them."""
    with pytest.raises(BadInput, match="context: memory is 'then' or 'now'"):
        resolve_scope(runtime(Who(user="ana", memory="Now")), {}, "acme")  # type: ignore[arg-type]
