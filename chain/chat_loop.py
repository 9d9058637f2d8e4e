"""A plain conversation over a client of openai: a loop of tools within a turn, the chain around it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Protocol
from uuid import uuid4

from muniment.chain.host import Host
from muniment.chain.openai_format import AnswerDraft, encode_messages, find_first_choice
from muniment.chain.outcome import mark_aside
from muniment.chain.placement import place_additions
from muniment.chain.tools import ToolBox
from muniment.chain.values import Identity, Message, ToolOutput, TurnContext, TurnOutput


class _Completions(Protocol):
    @property
    def create(self) -> Callable[..., Any]: ...


class _Chat(Protocol):
    @property
    def completions(self) -> _Completions: ...


class ChatClient(Protocol):
    """What is used of `AsyncOpenAI`: `chat.completions.create`."""

    @property
    def chat(self) -> _Chat:
        """The part of the client that answers messages."""
        ...


@dataclass(kw_only=True)
class ChatLoop:
    """A conversation of one identity with a model.

    `tools` are functions with type hints, which the model may call. `options` go into each request as they are, such
    as `temperature`. After `max_steps` requests in a turn the model has to answer without a tool. `messages` is the
    conversation, oldest first; a turn that fails or is aborted leaves nothing in it."""

    host: Host
    client: ChatClient
    model: str
    identity: Identity
    system: str | None = None
    tools: Sequence[Callable[..., object]] = ()
    messages: Sequence[Message] = ()
    max_steps: int = 16
    options: dict[str, Any] = field(default_factory=dict)
    now: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))

    def __post_init__(self) -> None:
        self._tools = ToolBox(self.tools)

    async def send_text(self, text: str, **fields: Any) -> TurnOutput:
        """Return the answer to a text. `fields` are those of the turn, such as `is_machine`, `tags`, `path`.

        Raises what the client raises."""
        context = self._begin_turn(text, fields)
        output = await self.host.run_turn(context, self._answer_whole)
        self._keep_turn(context, output)
        return output

    async def stream_text(self, text: str, **fields: Any) -> AsyncGenerator[str | TurnOutput, None]:
        """Yield the answer to a text in parts as they come, and its output last. Raises what the client raises."""
        context = self._begin_turn(text, fields)
        async with aclosing(self.host.stream_turn(context, self._answer_streamed)) as parts:
            async for part in parts:
                if isinstance(part, TurnOutput):
                    self._keep_turn(context, part)
                yield part

    async def compact_messages(self, keep_turns: int) -> bool:
        """Let all but the last turns leave the conversation, and return whether they did: they stay where a middleware
        could not keep what it needs of them."""
        starts = [place for place, message in enumerate(self.messages) if message.role == "user"]
        if len(starts) <= keep_turns:
            return True
        place = starts[-keep_turns] if keep_turns else len(self.messages)
        leaving = tuple(self.messages[:place])
        context = TurnContext(turn_id=str(uuid4()), identity=self.identity, messages=leaving, at=self.now())
        if not await self.host.compact(context, leaving):
            return False
        self.messages = tuple(self.messages[place:])
        return True

    def _begin_turn(self, text: str, fields: dict[str, Any]) -> TurnContext:
        at = self.now()
        system = [] if self.system is None else [Message(role="system", text=self.system)]
        is_machine = fields.get("is_machine") is True
        asked = Message(role="user", text=text, id=str(uuid4()), at=at, is_machine=is_machine)
        messages = (*system, *self.messages, asked)
        return TurnContext(turn_id=str(uuid4()), identity=self.identity, messages=messages, at=at, **fields)

    def _keep_turn(self, context: TurnContext, output: TurnOutput) -> None:
        asked = context.messages[-1]
        is_aside = any(message.is_aside for message in output.messages)
        self.messages = (*self.messages, mark_aside(asked) if is_aside else asked, *output.messages)

    async def _answer_whole(self, turn: TurnContext) -> TurnOutput:
        async with aclosing(self._answer_in_steps(turn, is_streamed=False)) as parts:
            return [part async for part in parts if isinstance(part, TurnOutput)][-1]

    def _answer_streamed(self, turn: TurnContext) -> AsyncGenerator[str | TurnOutput, None]:
        return self._answer_in_steps(turn, is_streamed=True)

    async def _answer_in_steps(self, turn: TurnContext, *, is_streamed: bool) -> AsyncGenerator[str | TurnOutput, None]:
        placed, added = place_additions(turn), list[Message]()
        for step in range(1, self.max_steps + 1):
            request = self._build_request([*placed, *added], is_last=step == self.max_steps)
            draft = AnswerDraft()
            if is_streamed:
                async with aclosing(self._stream_request(request, draft)) as parts:
                    async for part in parts:
                        yield part
            else:
                completion = await self.client.chat.completions.create(**request)
                if (choice := find_first_choice(completion.choices)) is not None:
                    draft.add_part(choice.message)
            message, faults = draft.build_message(self.now())
            if not message.tool_calls or step == self.max_steps:
                added.append(replace(message, tool_calls=()))
                break
            added.append(message)
            for call in message.tool_calls:
                text, is_error = await self._tools.call_tool(call, faults.get(call.id))
                output = ToolOutput(call=call, text=text, at=self.now(), is_error=is_error)
                await self.host.report_tool(turn, output)
                added.append(Message(role="tool", text=text, at=output.at, tool_call_id=call.id, name=call.name))
        yield TurnOutput(text=added[-1].text, at=self.now(), messages=tuple(added))

    async def _stream_request(self, request: dict[str, Any], draft: AnswerDraft) -> AsyncGenerator[str, None]:
        async with await self.client.chat.completions.create(**request, stream=True) as stream:
            async for chunk in stream:
                choice = find_first_choice(chunk.choices)
                if choice is not None and (text := draft.add_part(choice.delta)):
                    yield text

    def _build_request(self, messages: Sequence[Message], *, is_last: bool) -> dict[str, Any]:
        request: dict[str, Any] = {"model": self.model, "messages": encode_messages(messages), **self.options}
        if self._tools.schemas:
            request["tools"] = self._tools.schemas
            if is_last:
                request["tool_choice"] = "none"
        return request
