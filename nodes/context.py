"""Before the reply: whose thread this is, and what memory has to say to the message."""

from __future__ import annotations

from typing import Any, Literal

from langchain_core.messages import AnyMessage, HumanMessage, RemoveMessage
from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime
from langgraph.types import Command

from muniment.memory.client import Memory
from muniment.memory.config.settings import Settings
from muniment.memory.domain.ids import Revision
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput, Denied, MunimentError, TooLarge
from muniment.nodes import failures, time_travel
from muniment.nodes.state import State, Who, find_unanswered, resolve_scope

NEXT = ("supervisor", "hotpath", "deny")


async def read_context(
    state: State, runtime: Runtime[Who], config: RunnableConfig, *, memory: Memory, settings: Settings
) -> Command[Literal["supervisor", "hotpath", "deny"]]:
    """Begin a turn: forget the last one's leavings and read memory."""
    messages = find_unanswered(state["messages"])
    owner = await time_travel.find_owner(state, runtime, config)
    try:
        who: Scope | None = resolve_scope(runtime, config, settings.tenant)
    except (BadInput, Denied):  # which `deny` tells
        who = None
    if who is None or owner not in {None, str(who.space)}:
        # What a stranger said must not stay in the thread, where its owner's next turn would learn it.
        known_ids = set(state.get("asked", ()))
        removals: list[Any] = [RemoveMessage(id=one.id) for one in messages if one.id and one.id not in known_ids]
        leftover = State(
            messages=removals, step=time_travel.get_step(config)
        )  # nor set the owner's next turn back in time
        return Command(goto="deny", update=leftover | State(space=owner) if owner else leftover)
    update = State(
        space=str(who.space), asked=[one.id for one in messages if one.id], at=memory.now().isoformat(), writes=[],
        reports=[], handoff=None, handoffs=0, unread="", unmet="", unwritten="", refused=False, rev=None, stable="", header="",
        bullets=[], moving="", recalled=[], asking=[], decided="", messages=_redact_messages(messages, memory),
    )  # fmt: skip
    try:
        update |= await time_travel.begin_turn(state, runtime, config, update["asked"])
        texts = [str(one.text) for one in messages]
        update |= await _read_memory(memory, who, texts, settings.limits.turn_chars, update["as_of"])
    except MunimentError as error:
        update["unread"] = await failures.report_failure(memory, who, "context", "search", error)
        update["refused"] = isinstance(error, TooLarge)
    return Command(goto=["supervisor", "hotpath"], update=update)


def _redact_messages(messages: list[HumanMessage], memory: Memory) -> list[AnyMessage]:
    """The messages that hold a secret, without it and with the same id: they replace those of the thread."""
    redacted = [one.model_copy(update={"content": _redact_content(one.content, memory)}) for one in messages]
    return [new for old, new in zip(messages, redacted, strict=True) if new.content != old.content]


def _redact_content(content: Any, memory: Memory) -> Any:
    """A message's content: a text, or blocks of which some have a text."""
    if isinstance(content, str):
        return memory.redact(content)
    return [
        memory.redact(one) if isinstance(one, str)
        else one | {"text": memory.redact(one["text"])} if isinstance(one.get("text"), str)
        else one
        for one in content
    ]  # fmt: skip


async def deny_turn(_: State, runtime: Runtime[Who], config: RunnableConfig, *, settings: Settings) -> State:
    """Raises Denied: the thread is somebody else's; or BadInput, where the run is of nobody."""
    resolve_scope(runtime, config, settings.tenant)
    raise Denied("This thread belongs to another user.")


async def _read_memory(memory: Memory, scope: Scope, texts: list[str], max_chars: int, as_of: int | None) -> State:
    if texts and (size := len(texts[-1])) > max_chars:
        raise TooLarge(f"The message has {size:,} characters; at most {max_chars:,} can be read.", size=size)
    # The latest first: of a long text only the beginning is looked for.
    text = "\n".join(one for one in reversed(texts) if len(one) <= max_chars)
    if as_of is None:
        brief = await memory.brief(scope, "supervisor", text)
    else:
        try:
            brief = await memory.brief(scope, "supervisor", text, as_of=Revision(as_of))
        except BadInput as error:
            raise BadInput(
                f"Memory cannot say any more what it held at revision {as_of}, so this reply was made without it.",
                rev=as_of,
            ) from error
    recalled = memory.shingle_hashes(brief.stable, brief.header, *brief.bullets)
    return State(rev=int(brief.rev), stable=brief.stable, header=brief.header, bullets=list(brief.bullets),
                 moving=brief.moving, recalled=list(recalled))  # fmt: skip
