"""What a command does, and what is replied to it. No model takes part."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from muniment.chain.faults import find_place
from muniment.chain.hook_call import HookCalls, HookFault
from muniment.memory.errors import MunimentError, StoreError
from muniment.memory.rules.language.writing import detect_writing
from muniment.plugin.commands.lookup import (
    MAX_CANDIDATES,
    MIN_ID_CHARS,
    find_candidates,
    find_rivals,
    parse_id_prefix,
    shorten_ids,
)
from muniment.plugin.commands.parsing import Command, parse_command
from muniment.plugin.commands.phrases import Language, flatten_words, format_item, format_phrase, get_help
from muniment.plugin.domain.book import AuditAction, AuditLine, PluginStats, TurnReport
from muniment.plugin.domain.item import ItemOwner, ListQuery, MemoryItem
from muniment.plugin.problems import Problem, describe_error

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from muniment.chain.values import TurnContext
    from muniment.plugin.ports import MemoryStore, PluginBook

_LISTED = 20
_STATUS_DAYS = 7
_SHOWN_PROBLEM_CHARS = 60
_STATUS_SECONDS = 1.0  # for what the book has for it
COMMAND_SECONDS = 1.5  # for a command: less than what a host gives a hook, or the command would go to the model
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginState:
    """How a plugin works at the moment, for `/memory status`."""

    store: str
    policy: str = "default"
    is_shadow: bool = False
    queue_length: int = 0  # operations that wait to be sent
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Call:
    owner: ItemOwner
    at: datetime
    store: MemoryStore
    book: PluginBook
    state: PluginState
    language: Language


async def run_command(
    command: Command,
    context: TurnContext,
    owner: ItemOwner,
    store: MemoryStore,
    book: PluginBook,
    state: PluginState,
    *,
    seconds: float = COMMAND_SECONDS,
) -> str:
    """Do what a command says, and return the reply, in the language of the conversation.

    A store or a book that fails, in whatever way, or takes longer than `seconds` is a sentence of the reply; nothing is
    raised for it: a command without a reply would go to the model."""
    language = _choose_language(context)
    call = _Call(owner=owner, at=context.at, store=store, book=book, state=state, language=language)
    result = await HookCalls().call_hook(lambda: _run(call, command), seconds)
    if not isinstance(result, HookFault):
        return result.value
    if result.error is None:
        return format_phrase("late", language)
    if not isinstance(result.error, MunimentError):
        _log.warning("a command failed: %s %s", type(result.error).__name__, find_place(result.error) or "")
    return format_phrase("failed", language, error=type(result.error).__name__)


async def _run(call: _Call, command: Command) -> str:
    match command.name:
        case "list":
            return await _list_items(call)
        case "pin" | "unpin" | "forget":
            return await _change_item(call, command.name, command.argument)
        case "off" | "on":
            return await _switch(call, command.name)
        case "why":
            return await _explain_turn(call)
        case "status":
            return await _describe_status(call)
        case "help":
            return _show_help(call, command.problem)


async def _list_items(call: _Call) -> str:
    recent = list(await call.store.list(ListQuery(owner=call.owner, at=call.at, limit=_LISTED + 1)))
    report = await call.book.read_last_turn(call.owner)
    active = await _find_items(call, () if report is None else report.item_ids, recent)
    has_more = len(recent) > _LISTED
    active_ids = {item.id for item in active}
    rest = [item for item in recent[:_LISTED] if item.id not in active_ids]
    shown = await _shorten(call, [*active, *rest])
    lines = [] if await call.book.read_switch(call.owner) else [format_phrase("is_off", call.language)]
    for heading, items in (("active", active), ("recent", rest)):
        if items:
            lines += [format_phrase(heading, call.language), *_format_items(call, items, shown)]
    if has_more:
        lines.append(format_phrase("more", call.language, count=_LISTED))
    return "\n".join(lines) if active or rest else "\n".join([*lines, format_phrase("empty", call.language)])


async def _change_item(call: _Call, name: AuditAction, typed: str) -> str:
    if not typed:
        return format_phrase("no_id", call.language, name=name)
    given, prefix = flatten_words(typed, _SHOWN_PROBLEM_CHARS), parse_id_prefix(typed)
    if prefix is None:
        return format_phrase("short_id", call.language, name=name, given=given, least=MIN_ID_CHARS)
    found = sorted(await find_candidates(call.store, call.owner, prefix, call.at), key=lambda item: item.id)
    if not found:
        return format_phrase("unknown_id", call.language, given=given)
    shown = await _shorten(call, found)
    if len(found) > 1:
        lines = [format_phrase("ambiguous_id", call.language, given=given), *_format_items(call, found, shown)]
        return "\n".join([*lines, "…"] if len(found) == MAX_CANDIDATES else lines)
    item = found[0]
    if name == "forget":
        is_done = item.id in await call.store.forget(call.owner, [item.id])
    else:
        is_done = await call.store.pin(call.owner, item.id, pinned=name == "pin")
    if not is_done:
        return format_phrase("gone", call.language)
    await _record(call, name, item.id)
    return f"{format_phrase(name, call.language)} {shown[item.id]}  {flatten_words(item.summary or item.content)}"


async def _switch(call: _Call, name: AuditAction) -> str:
    is_on = name == "on"
    if await call.book.read_switch(call.owner) != is_on:
        await call.book.write_switch(call.owner, is_on=is_on)
        await _record(call, name, None)
    return format_phrase("turned_on" if is_on else "turned_off", call.language)


async def _explain_turn(call: _Call) -> str:
    report = await call.book.read_last_turn(call.owner)
    if report is None:
        return format_phrase("no_turn", call.language)
    reason = report.recall_reason.replace("_", " ")
    if report.recall:
        count = len(report.item_ids)
        lines = [format_phrase("why_searched", call.language, reason=reason, items=count, tokens=report.tokens)]
    else:
        lines = [format_phrase("why_skipped", call.language, reason=reason)]
    items = await _find_items(call, report.item_ids, ())
    shown = await _shorten(call, items)
    lines += _format_items(call, items, shown)
    there = {item.id for item in items}
    lines += [
        format_phrase("forgotten_since", call.language, id=id_[:8]) for id_ in report.item_ids if id_ not in there
    ]
    return "\n".join([*lines, *_describe_writing(call, report)])


def _describe_writing(call: _Call, report: TurnReport) -> list[str]:
    lines = [format_phrase("why_shadow", call.language)] if report.is_shadow else []
    if report.written or report.duplicates:
        lines.append(format_phrase("why_written", call.language, written=report.written, duplicates=report.duplicates))
    if report.refusals:
        reasons = ", ".join(f"{reason.replace('_', ' ')} {count}" for reason, count in sorted(report.refusals.items()))
        lines.append(format_phrase("why_refused", call.language, reasons=reasons))
    return lines


async def _describe_status(call: _Call) -> str:
    """Say how the memory works, and what of it does not: also where the book is what does not."""
    language, state, book = call.language, call.state, call.book
    switch, problems, counted = format_phrase("unknown", language), list(state.problems), list[str]()
    since = call.at - timedelta(days=_STATUS_DAYS)
    try:
        async with asyncio.timeout(_STATUS_SECONDS):
            switch = format_phrase("on" if await book.read_switch(call.owner) else "off", language)
            counted = _describe_counts(await book.read_stats(call.owner.tenant, call.owner.user, since), language)
    except (MunimentError, TimeoutError) as error:
        problems.append(Problem("book", describe_error(error)))
    lines = [format_phrase("status", language, state=switch, store=state.store, policy=state.policy)]
    if state.is_shadow:
        lines.append(format_phrase("why_shadow", language))
    if state.queue_length:
        lines.append(format_phrase("status_queue", language, count=state.queue_length))
    lines += [problem.describe(language) for problem in dict.fromkeys(problems)]
    return "\n".join([*lines, *counted])


def _describe_counts(stats: PluginStats, language: Language) -> list[str]:
    calls = stats.remote_reads + stats.remote_writes
    counts = {"turns": stats.turns, "searched": stats.searched, "hits": stats.hits, "tokens": stats.tokens}
    return [
        format_phrase("status_turns", language, days=_STATUS_DAYS, **counts),
        format_phrase("status_calls", language, written=stats.written, calls=calls),
    ]


def _show_help(call: _Call, problem: str) -> str:
    lines = [get_help(call.language)]
    if problem:
        given = flatten_words(problem, _SHOWN_PROBLEM_CHARS)
        lines.insert(0, format_phrase("no_command", call.language, given=given))
    return "\n".join(lines)


async def _record(call: _Call, action: AuditAction, item_id: str | None) -> None:
    line = AuditLine(owner=call.owner, at=call.at, action=action, item_id=item_id)
    try:
        await call.book.record_audit(line)
    except StoreError as error:  # what was asked for is done, and the reply has to say so
        _log.warning("the audit line of %s is not written: %s", action, type(error).__name__)


async def _find_items(call: _Call, ids: Sequence[str], known: Sequence[MemoryItem]) -> list[MemoryItem]:
    items = {item.id: item for item in known}
    for id_ in ids:
        if id_ not in items:
            items |= {item.id: item for item in await find_candidates(call.store, call.owner, id_, call.at)}
    return [items[id_] for id_ in ids if id_ in items]


async def _shorten(call: _Call, items: Sequence[MemoryItem]) -> dict[str, str]:
    rivals = await find_rivals(call.store, call.owner, call.at) if items else ()
    return shorten_ids([item.id for item in items], rivals)


def _format_items(call: _Call, items: Sequence[MemoryItem], shown: dict[str, str]) -> list[str]:
    return [format_item(item, shown[item.id], call.at, call.language) for item in items]


def _choose_language(context: TurnContext) -> Language:
    """Chinese where the last message that is no command is Chinese."""
    for message in reversed(context.messages):
        if message.role == "user" and message.text.strip() and parse_command(message.text) is None:
            return "zh" if detect_writing(message.text[:2_000]) == "han" else "en"
    return "en"
