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

    A ModelError in the script is raised. `calls` has the messages and tools of each call, `forms` the output schemas.
    After the end of a list every call raises ModelUnavailable.
    """

    def __init__(self, script: Sequence[Reply] | Script, *, name: str = "scripted") -> None:
        self._name = name
        self._script: Script | None = script if callable(script) else None
        self._replies = iter(()) if callable(script) else iter(list(script))
        self.calls: list[tuple[tuple[ChatMessage, ...], tuple[Tool, ...]]] = []
        self.forms: list[AnswerForm | None] = []

    @property
    def name(self) -> str:
        """Return the name of the model."""
        return self._name

    async def chat(
        self, messages: Sequence[ChatMessage], tools: Sequence[Tool] = (), *, form: AnswerForm | None = None
    ) -> ChatAnswer:
        """Return the next answer of the script. Raises ModelError."""
        self.calls.append((tuple(messages), tuple(tools)))
        self.forms.append(form)
        reply = self._script(messages, tools) if self._script else next(self._replies, None)
        if reply is None:
            raise ModelUnavailable("The script has no answer left.")
        if isinstance(reply, ModelError):
            raise reply
        if isinstance(reply, ChatAnswer):
            return reply
        answer = ChatMessage(role="assistant", content=reply) if isinstance(reply, str) else reply
        return ChatAnswer(
            message=answer,
            model=self._name,
            input_tokens=sum(len(message.content) for message in messages) // 4,
            output_tokens=len(answer.content) // 4,
        )

    async def close(self) -> None:
        """Do nothing: there is nothing to close."""


class FixedClock:
    """A clock that moves only by `advance`. Raises BadConfig for a start without a time zone."""

    def __init__(self, start: datetime) -> None:
        if start.tzinfo is None:
            raise BadConfig("A clock needs a time with a time zone.")
        self._now = start.astimezone(UTC)

    def now(self) -> datetime:
        """Return the time of the clock in UTC."""
        return self._now

    def advance(self, seconds: float) -> datetime:
        """Move by so many seconds and return the new time."""
        self._now += timedelta(seconds=seconds)
        return self._now
