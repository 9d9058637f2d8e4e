"""The nodes around the reply: context before it, the hot path beside it; ledger, jobs and consent after it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Literal

from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.config import get_stream_writer
from langgraph.runtime import Runtime
from langgraph.types import Command

from muniment.chain.host import Host
from muniment.memory import codec
from muniment.memory.client import Memory
from muniment.memory.config.settings import Settings
from muniment.memory.domain.consent import SENSITIVE
from muniment.memory.domain.ids import Revision
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput, Denied, MunimentError, StoreError, TooLarge
from muniment.nodes.chain.turns import ask_chain, finish_turn, list_shown_ids
from muniment.nodes.consent import apply_answer, is_typed
from muniment.nodes.entry import (
    begin_turn,
    drop_unchanged,
    find_owner,
    find_previous,
    find_turn_messages,
    get_reply,
    get_step,
    make_output,
    make_turn,
    report_failure,
    resolve_scope,
    tag_turns,
)
from muniment.nodes.state import READ_EVENT, REFUSED_EVENT, WRITTEN_EVENT, PendingToolTurn, State, Who
from muniment.nodes.supervisor import (
    add_notes,
    ask_replaced,
    explain_omissions,
    find_seen_revision,
    settle_replacements,
)
from muniment.nodes.tool_turns import collect_tool_turns, load_turns

NEXT = ("supervisor", "hotpath", "deny")  # the nodes after `context`
_LONG_TEXT = 4_000  # characters from which a message is read beside the event loop
_REDACTED = "[redacted:"  # what stands in the place of a secret
_MAX_RECENT = 20  # messages of a thread in which a background job may have found something


async def read_context(
    state: State,
    runtime: Runtime[Who],
    config: RunnableConfig,
    *,
    memory: Memory,
    settings: Settings,
    host: Host | None = None,
) -> Command[Literal["supervisor", "hotpath", "deny", "episodic"]]:
    """Begin a turn: reset the state of the turn before, redact the messages, ask the chain, and read memory."""
    thread = state["messages"]
    start = next((n for n in range(len(thread), 0, -1) if isinstance(thread[n - 1], AIMessage)), 0)
    messages = [message for message in thread[start:] if isinstance(message, HumanMessage)]  # since the last reply
    owner = state["space"] if "space" in state else await find_owner(runtime, config)
    try:
        scope: Scope | None = resolve_scope(runtime, config, settings.tenant, settings.users.required)
    except (BadInput, Denied):  # `deny` raises it again
        scope = None
    if scope is None or owner not in {None, str(scope.space)}:
        # A stranger's message must not stay in the thread, where its owner's next turn would learn it.
        owner_ids = {*state.get("asked", ()), None}
        removals: list[Any] = [RemoveMessage(id=str(each.id)) for each in messages if each.id not in owner_ids]
        # With this step, the owner's next turn does not take the thread for one that goes on from an old checkpoint.
        leftover = State(messages=removals, step=get_step(config))
        return Command(goto="deny", update=leftover | State(space=owner) if owner else leftover)
    redacted = [
        message.model_copy(update={"content": await _redact_content(message.content, memory)}) for message in messages
    ]
    update = _reset_state(state, scope, memory, messages, redacted)
    if host is not None and messages:
        update |= await ask_chain(host, state, update, scope)
    goto: list[Literal["supervisor", "hotpath", "episodic"]] = ["supervisor", "hotpath"]
    if update["is_aside"] or update["is_off"]:
        goto = ["episodic"] if update["is_aside"] else ["supervisor"]
    try:
        update |= await begin_turn(state, runtime, config, update["asked"])
        if len(goto) > 1:
            texts = [str(message.text) for message in messages]
            update |= await _read_memory(memory, scope, state, texts, settings.limits.turn_chars, update, host)
    except MunimentError as error:
        update["unread"] = await report_failure(memory, scope, "context", "search", error)
        update["refused"] = isinstance(error, TooLarge)
    return Command(goto=goto, update=drop_unchanged(state, update))


def _reset_state(
    state: State, scope: Scope, memory: Memory, messages: Sequence[HumanMessage], redacted: Sequence[HumanMessage]
) -> State:
    """The state of a turn that begins, without anything of the turn before."""
    return State(
        space=str(scope.space),
        asked=[message.id for message in messages if message.id],
        at=memory.now().isoformat(),
        writes=[],
        reports=[],
        handoff=None,
        handoffs=0,
        tool_messages=[],
        unread="",
        unmet="",
        unwritten="",
        refused=False,
        from_memory=False,
        rev=None,
        stable="",
        header="",
        bullets=[],
        fresh=[],
        moving="",
        recalled=[],
        asking=[],
        # An interrupt that nobody resumed: the message in its place may be the answer.
        to_confirm=[request["id"] for request in state.get("asking", ())] or state.get("to_confirm", []),
        decided="",
        additions=[],
        is_aside=False,
        is_off=False,
        shown=[],
        # With the same ids: they replace those of the thread.
        messages=[new for old, new in zip(messages, redacted, strict=True) if new.content != old.content],
    )


async def _redact_content(content: Any, memory: Memory) -> Any:
    """A message's content without secrets: a text, or blocks of which some have a text. A long text is read in a
    thread, for it must not hold up others."""
    if isinstance(content, str):
        redact = memory.conversation.redact
        return await asyncio.to_thread(redact, content) if len(content) > _LONG_TEXT else redact(content)
    return [
        await _redact_content(block, memory)
        if isinstance(block, str)
        else block | {"text": await _redact_content(block["text"], memory)}
        if isinstance(block.get("text"), str)
        else block
        for block in content
    ]


async def deny_turn(_: State, runtime: Runtime[Who], config: RunnableConfig, *, settings: Settings) -> State:
    """Raises Denied: the thread belongs to another user; or BadInput, where the context names no user."""
    resolve_scope(runtime, config, settings.tenant, settings.users.required)
    raise Denied("This thread belongs to another user.")


async def _read_memory(
    memory: Memory, scope: Scope, state: State, texts: Sequence[str], max_chars: int, update: State, host: Host | None
) -> State:
    """What memory holds on texts, as of a revision or now; `fresh` is what no recent message of the thread says.

    Raises TooLarge, BadInput, StoreError."""
    as_of = update["as_of"]
    recent = [message for message in state["messages"] if isinstance(message, HumanMessage)][-_MAX_RECENT:]
    said = {make_turn(scope, message, update["at"]).id for message in recent}
    write_event = get_stream_writer()
    if texts and (size := len(texts[-1])) > max_chars:
        reason = f"The message has {size:,} characters; at most {max_chars:,} can be read."
        write_event({"event": REFUSED_EVENT, "agent": "supervisor", "reasons": [reason]})
        raise TooLarge(reason, size=size)
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
    found = len(brief.bullets) + len(brief.stable.splitlines())
    write_event({"event": READ_EVENT, "agent": "supervisor", "revision": int(brief.rev), "found": found})
    return State(
        rev=int(brief.rev),
        stable=brief.stable,
        header=brief.header,
        bullets=list(brief.bullets),
        fresh=[text for text, turns in zip(brief.bullets, brief.turns, strict=True) if said.isdisjoint(turns)],
        moving=brief.moving,
        relevance=brief.relevance,
        shown=list_shown_ids(brief) if host is not None else [],  # which only a chain asks for
    )


async def learn_messages(state: State, scope: Scope, *, memory: Memory) -> State:
    """Learn from the user's messages, those first that memory could not take in an earlier turn."""
    messages = find_turn_messages(state)
    answers, failure = await apply_answer(state, messages, scope, memory) if state.get("to_confirm") else ((), "")
    unclear = [codec.encode_consent_request(request) for request in answers if request.decision == "pending"]
    settled = None
    if (marked := state.get("to_settle")) and not answers and len(messages) == 1 and is_typed(messages[0]):
        settled = await settle_replacements(marked, str(messages[0].text), scope, memory)
    update = State(
        writes=[],
        unmet="",
        unwritten="",
        asking=unclear,
        to_confirm=[],
        to_settle=settled.unclear if settled else [],
        decided=codec.format_decisions(answers) if answers else failure or (settled.sentence if settled else ""),
    )
    times = {**state.get("to_learn", {})}
    if len(unclear) == len(answers) and not settled:  # a message that decides something is an answer, and no statement
        times |= {message.id: state["at"] for message in messages if message.id}
    write_event = get_stream_writer()
    # A message that was removed from the thread waits no longer.
    waiting = {message.id: message for message in state["messages"] if message.id in times}
    for id_, message in list(waiting.items()):
        turn = make_turn(scope, message, times[str(id_)])
        try:
            before = [make_turn(scope, each, times[str(id_)]) for each in find_previous(state["messages"], message)]
            receipt = await memory.learn(scope, turn, previous=before)
        except MunimentError as error:
            update["unwritten"] = await report_failure(memory, scope, "hotpath", "create", error)
            if not isinstance(error, BadInput) and type(error) is not StoreError:
                break  # the rest would fail in the same way; it waits for the next turn
        else:
            update["writes"] += (changes := [codec.encode_change(change) for change in receipt.changes])
            if changes:
                write_event({"event": WRITTEN_EVENT, "revision": receipt.rev, "changes": changes})
            if receipt.refused:
                write_event({"event": REFUSED_EVENT, "reasons": [*receipt.refused]})
            update["asking"] += [
                codec.encode_consent_request(request)
                for request in receipt.consent_requests
                if request.field in SENSITIVE
            ]
            questions, marked = await ask_replaced(receipt, scope, memory)
            update["to_settle"] += marked
            redactions = memory.conversation.describe_redactions(turn.text) if _REDACTED in turn.text else ()
            omissions = explain_omissions(turn, receipt, redactions)
            update["unmet"] = "\n\n".join(
                filter(None, [update["unmet"], *receipt.unmatched_requests, *questions, *omissions])
            )
        waiting.pop(id_)
    if not update["unwritten"]:
        update["asking"] += await _find_new_requests(
            state, scope, memory, {request["id"] for request in update["asking"]}
        )
    request_ids = dict.fromkeys([*state.get("was_asked", ()), *(request["id"] for request in update["asking"])])
    return update | State(to_learn={str(id_): times[str(id_)] for id_ in waiting}, was_asked=list(request_ids))


async def _find_new_requests(
    state: State, scope: Scope, memory: Memory, new_request_ids: set[str]
) -> list[dict[str, str]]:
    """The requests that a model has found in this thread's messages since; each is asked about once."""
    old_ids = new_request_ids.union(state.get("was_asked", ()))
    try:
        requests = await memory.list_consents(scope)
    except MunimentError as error:
        await report_failure(memory, scope, "hotpath", "search", error)
        return []
    new = [request for request in requests if request.field in SENSITIVE and str(request.id) not in old_ids]
    if not new:
        return []
    messages = [message for message in state["messages"] if isinstance(message, HumanMessage)]
    turn_ids = {make_turn(scope, message, state["at"]).id for message in messages[-_MAX_RECENT:]}
    return [codec.encode_consent_request(request) for request in new if turn_ids.intersection(request.turns)]


async def record_turn(state: State, scope: Scope, *, memory: Memory, settings: Settings) -> State:
    """Record the turn and its tool calls, advance the thread's cursor, and add to the reply what was not stored."""
    reply = None if state.get("is_aside") else get_reply(state)
    waiting = state.get("to_record", {}) | {
        message.id: state["at"] for message in find_turn_messages(state) if message.id
    }
    if reply is not None and reply.id:
        waiting[reply.id] = memory.now().isoformat()
    pending = state.get("acts", [])
    if any(isinstance(message, ToolMessage) for message in state["messages"]):
        pending, times = collect_tool_turns(state, scope, memory)
        waiting = times | waiting
    failure, rev = state.get("unwritten", ""), state.get("rev")
    if not state.get("to_learn"):  # otherwise memory has just failed in the hot path: no second wait for it
        try:
            await _record_messages(state, scope, memory, waiting, pending, settings.limits.turn_chars)
            # What a run in the past has read says nothing about what the thread has seen.
            if rev is not None and scope.thread and state.get("as_of") is None:
                await memory.conversation.mark_seen(scope, find_seen_revision(Revision(rev), state.get("writes", [])))
        except BadInput as error:
            failure, waiting, pending = failure or str(error), {}, []  # a later turn would fail in the same way
        except MunimentError as error:
            failure = failure or await report_failure(memory, scope, "episodic", "create", error)
        else:
            waiting, pending = {}, []
    update = State(to_record=waiting, unwritten=failure, acts=pending)
    if not waiting:
        update |= await _capture_episode(state, scope, memory, settings)
    if reply is not None and (text := add_notes(state, str(reply.text), failure)) != str(reply.text):
        # The same id: the message is replaced, the thread has one reply.
        update["messages"] = [reply.model_copy(update={"content": text})]
    return update


async def _record_messages(
    state: State,
    scope: Scope,
    memory: Memory,
    waiting: dict[str, str],
    pending: Sequence[PendingToolTurn],
    max_chars: int,
) -> None:
    """Record the waiting messages of at most `max_chars` characters; the hot path has reported the longer ones."""
    messages = [
        message for message in state["messages"] if message.id in waiting and len(str(message.text)) <= max_chars
    ]
    reply = get_reply(state)
    turns = [make_turn(scope, message, waiting[str(message.id)]) for message in messages if message is not reply]
    if pending:
        turns += load_turns(pending, scope)
    if reply in messages:
        shown = memory.conversation.shingle_hashes(
            state.get("stable", ""), state.get("header", ""), *state.get("bullets", ())
        )
        recalled = dict.fromkeys([*shown, *map(int, state.get("recalled", ()))])
        reply_turn = make_turn(scope, reply, waiting[str(reply.id)], tuple(recalled))
        turns += tag_turns(state, scope, [replace(reply_turn, tags=(), path=None)])
    if turns:
        await memory.conversation.record(scope, turns)


async def _capture_episode(state: State, scope: Scope, memory: Memory, settings: Settings) -> State:
    """Capture an episode when the thread's own count of turns and minutes says so; before that it costs nothing."""
    rules, now = settings.episodes, memory.now()
    turn_count, since = state.get("untold", 0) + bool(find_turn_messages(state)), state.get("told_at") or state["at"]
    is_early = now - datetime.fromisoformat(since) < timedelta(minutes=rules.cooldown_minutes)
    if is_early or turn_count < rules.cooldown_turns or not rules.per_day or not scope.thread:
        return State(untold=turn_count, told_at=since)
    try:
        await memory.conversation.capture(scope)
    except MunimentError as error:
        # The ledger has all messages: the next capture reads them.
        await report_failure(memory, scope, "episodic", "create", error)
    return State(untold=0, told_at=now.isoformat())


async def end_turn(
    state: State,
    scope: Scope,
    *,
    memory: Memory,
    settings: Settings,
    interrupts: bool,
    host: Host | None = None,
) -> State:
    """All that comes after the reply, in one step: ledger, jobs, what is asked in the reply's last line, and the chain.

    With `interrupts` a question is left to the node `consent`, which nothing comes before when its run goes on."""
    is_off = state.get("is_off", False)
    update = State() if is_off else await record_turn(state, scope, memory=memory, settings=settings)
    ended = state | update
    if "messages" in update:  # the reply, which is the last message
        ended["messages"] = [*state["messages"][:-1], *update["messages"]]
    if not ended.get("to_record"):  # otherwise memory has just failed: no second wait for it
        try:
            await memory.conversation.flush(scope)
            await memory.conversation.schedule_reflection(scope)
        except MunimentError as error:
            # The reply is out; the events stay in their buffer, with this one.
            await report_failure(memory, scope, "worker", "create", error)
    if ended.get("decided") or (ended.get("asking") and not interrupts):
        update |= _add_consent_lines(ended, is_asking=not interrupts)
        ended["messages"] = [*ended["messages"][:-1], *update.get("messages", ended["messages"][-1:])]
    if host is not None:
        finish_turn(host, ended, scope, memory.now())
    return update | make_output(ended)


def _add_consent_lines(state: State, *, is_asking: bool) -> State:
    """The reply with what became of an earlier question, and with `is_asking` the pending ones as its last line: then
    the next message may answer them."""
    requests = state.get("asking", []) if is_asking else []
    update = State(asking=[]) if is_asking else State()
    reply = get_reply(state)
    if reply is None:
        return update
    lines = [state.get("decided", ""), codec.format_consent_question(requests) if requests else ""]
    text = "\n\n".join(filter(None, [str(reply.text), *lines]))
    # The same id: the message is replaced, the thread has one reply.
    update |= State(messages=[reply.model_copy(update={"content": text})], decided="")
    return update | State(to_confirm=[request["id"] for request in requests]) if is_asking else update
