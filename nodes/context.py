"""The first node of a turn: check the owner of the thread, and read what memory holds on the message."""

from __future__ import annotations

from typing import Any, Literal

from langchain_core.messages import RemoveMessage
from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime
from langgraph.types import Command

from muniment.memory.client import Memory
from muniment.memory.config.settings import Settings
from muniment.memory.domain.ids import Revision
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput, Denied, MunimentError, TooLarge
from muniment.nodes import time_travel
from muniment.nodes.entry import report_failure
from muniment.nodes.state import State, Who, find_unanswered, resolve_scope

NEXT = ("supervisor", "hotpath", "deny")


async def read_context(
    state: State, runtime: Runtime[Who], config: RunnableConfig, *, memory: Memory, settings: Settings
) -> Command[Literal["supervisor", "hotpath", "deny"]]:
    """Begin a turn: reset the state of the turn before, redact the messages, and read memory."""
    messages = find_unanswered(state["messages"])
    owner = await time_travel.find_owner(state, runtime, config)
    try:
        scope: Scope | None = resolve_scope(runtime, config, settings.tenant)
    except (BadInput, Denied):  # `deny` raises it again
        scope = None
    if scope is None or owner not in {None, str(scope.space)}:
        # A stranger's message must not stay in the thread, where its owner's next turn would learn it.
        owner_ids = set(state.get("asked", ()))
        removals: list[Any] = [
            RemoveMessage(id=message.id) for message in messages if message.id and message.id not in owner_ids
        ]
        # With this step, the owner's next turn does not take the thread for one that goes on from an old checkpoint.
        leftover = State(messages=removals, step=time_travel.get_step(config))
        return Command(goto="deny", update=leftover | State(space=owner) if owner else leftover)
    redacted = [
        message.model_copy(update={"content": _redact_content(message.content, memory)}) for message in messages
    ]
    update = State(
        space=str(scope.space),
        asked=[message.id for message in messages if message.id],
        at=memory.now().isoformat(),
        writes=[],
        reports=[],
        handoff=None,
        handoffs=0,
        unread="",
        unmet="",
        unwritten="",
        refused=False,
        rev=None,
        stable="",
        header="",
        bullets=[],
        moving="",
        recalled=[],
        asking=[],
        decided="",
        # With the same ids: they replace those of the thread.
        messages=[new for old, new in zip(messages, redacted, strict=True) if new.content != old.content],
    )
    try:
        update |= await time_travel.begin_turn(state, runtime, config, update["asked"])
        texts = [str(message.text) for message in messages]
        update |= await _read_memory(memory, scope, texts, settings.limits.turn_chars, update["as_of"])
    except MunimentError as error:
        update["unread"] = await report_failure(memory, scope, "context", "search", error)
        update["refused"] = isinstance(error, TooLarge)
    return Command(goto=["supervisor", "hotpath"], update=update)


def _redact_content(content: Any, memory: Memory) -> Any:
    """A message's content without secrets: a text, or blocks of which some have a text."""
    if isinstance(content, str):
        return memory.conversation.redact(content)
    return [
        memory.conversation.redact(block)
        if isinstance(block, str)
        else block | {"text": memory.conversation.redact(block["text"])}
        if isinstance(block.get("text"), str)
        else block
        for block in content
    ]


async def deny_turn(_: State, runtime: Runtime[Who], config: RunnableConfig, *, settings: Settings) -> State:
    """Raises Denied: the thread belongs to another user; or BadInput, where the context names no user."""
    resolve_scope(runtime, config, settings.tenant)
    raise Denied("This thread belongs to another user.")


async def _read_memory(memory: Memory, scope: Scope, texts: list[str], max_chars: int, as_of: int | None) -> State:
    """What memory holds on the texts, as of a revision or now. Raises TooLarge, BadInput, StoreError."""
    if texts and (size := len(texts[-1])) > max_chars:
        raise TooLarge(f"The message has {size:,} characters; at most {max_chars:,} can be read.", size=size)
    # The latest first: of a long text only the beginning is searched for.
    query = "\n".join(text for text in reversed(texts) if len(text) <= max_chars)
    if as_of is None:
        brief = await memory.brief(scope, "supervisor", query)
    else:
        try:
            brief = await memory.brief(scope, "supervisor", query, as_of=Revision(as_of))
        except BadInput as error:
            raise BadInput(
                f"Memory cannot say any more what it held at revision {as_of}, so this reply was made without it.",
                rev=as_of,
            ) from error
    recalled = memory.conversation.shingle_hashes(brief.stable, brief.header, *brief.bullets)
    return State(
        rev=int(brief.rev),
        stable=brief.stable,
        header=brief.header,
        bullets=list(brief.bullets),
        moving=brief.moving,
        recalled=list(recalled),
    )
