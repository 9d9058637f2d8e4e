"""The calls of the tools: a query, and what is written after a yes of the user."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, CallToolRequestParams, CallToolResult, InputRequiredResult, TextContent

from muniment.faces.mcp.caller import Caller
from muniment.faces.mcp.consent import ask_user, quote_text
from muniment.faces.mcp.failures import describe_failure
from muniment.faces.mcp.schemas import QUERY, REMEMBER, SEARCH, list_tools
from muniment.memory import codec, query_codec
from muniment.memory.client import Memory
from muniment.memory.domain.memory import StoredMemory
from muniment.memory.domain.plan import Receipt
from muniment.memory.domain.query import Query
from muniment.memory.errors import BadInput, Denied, MunimentError, NotFound, NotReady, TooLarge
from muniment.memory.payload import (
    dump_compact,
    encode_answer,
    encode_found_turns,
    fence_text,
    parse_agent_query,
    parse_turn_search,
)

T = TypeVar("T")
_MAX_CHARS = 2_000  # of a text that a question shows whole


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCaller:
    """One call of a tool."""

    memory: Memory
    timeout_seconds: float
    caller: Caller
    ctx: ServerRequestContext[Any, Any]
    params: CallToolRequestParams
    ending: asyncio.Event  # set when no more requests are wanted

    async def run(self) -> CallToolResult | InputRequiredResult:
        """Return the answer; an error is one, too, so that the model can try again. Raises MCPError for an unknown
        tool and for a client that cannot ask its user."""
        schemas = {tool.name: tool.input_schema for tool in list_tools(self.memory.engine.settings, self.caller)}
        if self.params.name not in schemas:
            raise MCPError(INVALID_PARAMS, f"Unknown tool; there is {', '.join(schemas)}.")
        arguments = self.params.arguments or {}
        try:
            _check_arguments(arguments, schemas[self.params.name])
            if self.params.name == QUERY:
                return await self._query(arguments)
            if self.params.name == SEARCH:
                return await self._search(arguments)
            written = await (self._remember(arguments) if self.params.name == REMEMBER else self._forget(arguments))
            return written if isinstance(written, InputRequiredResult) else self._make_receipt(written)
        except MunimentError as error:
            text = describe_failure(self.memory, error)
            return CallToolResult(content=[TextContent(type="text", text=text)], is_error=True)

    async def _query(self, arguments: Mapping[str, Any]) -> CallToolResult:
        query = parse_agent_query(self.memory.engine.settings, self.caller.agent, arguments)
        self._check_categories(query)
        await self.ctx.session.report_progress(0, 1, "searching")
        answer = await self._bound_time(self.memory.query(self.caller.scope, self.caller.agent, query))
        await self.ctx.session.report_progress(1, 1, "done")
        value = encode_answer(answer, explain=query.explain)
        # What a model reads is fenced: a memory is no instruction. What a program reads needs no fence.
        text = fence_text(dump_compact(value))
        return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=value)

    async def _search(self, arguments: Mapping[str, Any]) -> CallToolResult:
        options = parse_turn_search(arguments, SEARCH)
        search = self.memory.sessions.search(self.caller.scope, agent=self.caller.agent, **options)
        value = encode_found_turns(await self._bound_time(search))
        text = fence_text(dump_compact(value))
        return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=value)

    async def _remember(self, arguments: Mapping[str, Any]) -> Receipt | InputRequiredResult | None:
        text = _get_text(arguments, "text")
        if len(text) > _MAX_CHARS:
            raise TooLarge(f"text: has {len(text):,} characters; at most {_MAX_CHARS:,} are allowed")
        answer = await self._ask(f"Remember {quote_text(text)}?")
        if isinstance(answer, InputRequiredResult):
            return answer
        return await self._bound_time(self.memory.remember(self.caller.scope, text)) if answer else None

    async def _forget(self, arguments: Mapping[str, Any]) -> Receipt | InputRequiredResult | None:
        found = await self._bound_time(find_memory(self.memory, self.caller, _get_text(arguments, "id")))
        answer = await self._ask(f"Forget {quote_text(found.text)}?")
        if isinstance(answer, InputRequiredResult):
            return answer
        return await self._bound_time(self.memory.forget(self.caller.scope, found.id)) if answer else None

    def _make_receipt(self, receipt: Receipt | None) -> CallToolResult:
        if receipt is None:
            text = TextContent(type="text", text="The user did not agree; nothing was written.")
            return CallToolResult(content=[text], structured_content={"written": False})
        allowed = self.caller.allowed
        visible = replace(receipt, changes=tuple(each for each in receipt.changes if each.after.category in allowed))
        value = {"written": bool(receipt.changes), **codec.encode_receipt(visible)}
        text = TextContent(type="text", text=fence_text(dump_compact(value)))
        return CallToolResult(content=[text], structured_content=value)

    def _check_categories(self, query: Query) -> None:
        """Raise Denied for a category that the agent may not read, and for an unknown one alike."""
        named = {*query.categories, *filter(None, [query.filters.category])}
        if named - self.caller.allowed:
            raise Denied(f"categories: the agent may read {', '.join(sorted(self.caller.allowed))} only")

    async def _ask(self, question: str) -> bool | InputRequiredResult:
        return await ask_user(self.ctx, self.params, question, self.ending)

    async def _bound_time(self, work: Awaitable[T]) -> T:
        return await bound_time(work, self.timeout_seconds)


async def bound_time(work: Awaitable[T], seconds: float) -> T:
    """Return what the work returns. Raises NotReady where it takes longer."""
    try:
        async with asyncio.timeout(seconds):
            return await work
    except TimeoutError:
        raise NotReady("it took too long; try again") from None


async def find_memory(memory: Memory, caller: Caller, memory_id: str) -> StoredMemory:
    """Return a memory by the beginning of its id. One that the agent may not read is as none. Raises NotFound, and
    BadInput for what is no id and for the beginning of several, which it does not name."""
    try:
        found = await memory.get(caller.scope, memory_id)
    except BadInput:
        raise BadInput("id: the whole id of a memory wanted, or a longer part of it from its beginning") from None
    if found.category not in caller.allowed:
        raise NotFound
    return found


def _check_arguments(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> None:
    """Raise BadInput for what cannot be stored, an unknown argument and an unknown choice, without a word of them: they
    may be a secret. What else is wrong is found where the arguments are read."""
    if not codec.is_storable(arguments):
        raise BadInput("arguments: a text has a NUL or half a character")
    known = schema["properties"]
    if not known.keys() >= arguments.keys():
        raise BadInput(f"arguments: unknown name; allowed: {', '.join(known)}")
    for name, value in arguments.items():
        choices = known[name].get("enum")
        if choices is not None and value not in choices:
            raise BadInput(f"{name}: one of {', '.join(choices)} wanted")
        members = known[name].get("properties", query_codec.FILTER_KINDS)
        if isinstance(value, Mapping) and not members.keys() >= value.keys():
            raise BadInput(f"{name}: unknown name; allowed: {', '.join(members)}")


def _get_text(arguments: Mapping[str, Any], name: str) -> str:
    value = arguments.get(name)
    if not isinstance(value, str) or not value.strip():
        raise BadInput(f"{name}: a text wanted that is not empty")
    return value
