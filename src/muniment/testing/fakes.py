"""A chat model and a clock without a network: exact and repeatable."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

from muniment.memory.errors import BadConfig, ModelError, ModelUnavailable
from muniment.memory.ports.llm import AnswerForm, ChatAnswer, ChatMessage, Tool

Reply: TypeAlias = str | ChatMessage | ChatAnswer | ModelError
Script: TypeAlias = Callable[[Sequence[ChatMessage], Sequence[Tool]], Reply]


class ScriptedChat:
    """A chat model that answers from a list, one by one, or from a function of messages and tools.

    A `ModelError` in the script is raised. `calls` keeps what was asked, `forms` in which form. A list that has run out is
    `ModelUnavailable`, not an empty answer.
    """

    def __init__(self, script: Sequence[Reply] | Script, *, name: str = "scripted") -> None:
        self._name = name
        self._script: Script | None = script if callable(script) else None
        self._replies = iter(()) if callable(script) else iter(list(script))
        self.calls: list[tuple[tuple[ChatMessage, ...], tuple[Tool, ...]]] = []
        self.forms: list[AnswerForm | None] = []

    @property
    def name(self) -> str:
        return self._name

    async def chat(
        self, messages: Sequence[ChatMessage], tools: Sequence[Tool] = (), *, form: AnswerForm | None = None
    ) -> ChatAnswer:
        self.calls.append((tuple(messages), tuple(tools)))
        self.forms.append(form)
        reply = self._script(messages, tools) if self._script else next(self._replies, None)
        if reply is None:
            raise ModelUnavailable("The script has no answer left.")
        if isinstance(reply, ModelError):
            raise reply
        if isinstance(reply, ChatAnswer):
            return reply
        message = ChatMessage(role="assistant", content=reply) if isinstance(reply, str) else reply
        return ChatAnswer(
            message=message,
            model=self._name,
            input_tokens=sum(len(asked.content) for asked in messages) // 4,
            output_tokens=len(message.content) // 4,
        )

    async def close(self) -> None:
        return None


class FixedClock:
    """A clock that stands still until it is told to move."""

    def __init__(self, start: datetime) -> None:
        if start.tzinfo is None:
            raise BadConfig("A clock needs a time with a time zone.")
        self._now = start.astimezone(UTC)

    def now(self) -> datetime:
        return self._now

    def advance(self, seconds: float) -> datetime:
        """Move by so many seconds and say the new time."""
        self._now += timedelta(seconds=seconds)
        return self._now
