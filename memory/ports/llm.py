"""The ports of language models: chat, and batch endpoints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol

from muniment.memory.errors import ModelError


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchRequest:
    """One prompt of a batch; `id` is its name among the answers."""

    id: str
    messages: tuple[ChatMessage, ...]
    form: AnswerForm | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchResults:
    """What came of a batch, by the ids of its requests; `tokens` (asked, said) of an answer that cannot be used, too.

    A request that is nowhere got no answer and cost nothing."""

    answers: dict[str, ChatAnswer] = field(default_factory=dict)
    failures: dict[str, ModelError] = field(default_factory=dict)
    tokens: dict[str, tuple[int, int]] = field(default_factory=dict)


class BatchModel(Protocol):
    """A language model behind a batch endpoint. Failures are `ModelError`s."""

    @property
    def name(self) -> str: ...

    async def submit_batch(self, key: str, requests: Sequence[BatchRequest]) -> str:
        """Hand the prompts over; the endpoint's name of the batch. Twice is two batches: `find` knows one by its key.

        An error with `sent=False`, or a status, has made none, and has left no file as far as that can be known."""
        ...

    async def find_batch(self, key: str, since: datetime | None = None) -> str | None:
        """The endpoint's name of the batch that was submitted with this key, not before `since`; None when there is none."""
        ...

    async def fetch_results(self, batch: str) -> BatchResults | None:
        """What came of the batch; None while it is under way. One that has expired or was cancelled has what came in time.

        Raises BatchFailed when the endpoint could not take it, or does not know it."""
        ...

    async def cancel_batch(self, batch: str) -> None:
        """Let the endpoint stop. A batch that is over, or unknown, is cancelled already."""
        ...

    async def delete_files(self, batch: str) -> None:
        """Remove the batch's files at the endpoint, as far as it lets them be removed."""
        ...

    async def delete_orphaned_uploads(self, key: str) -> None:
        """Remove what was uploaded for a batch of this key that was never made."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A model's wish to call a tool; `arguments` are parsed JSON."""

    id: str
    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatMessage:
    """One message to or from a model."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool offered to a model: `parameters` is a JSON schema."""

    name: str
    description: str
    parameters: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatAnswer:
    """A model's answer and what it cost in tokens."""

    message: ChatMessage
    model: str
    input_tokens: int = 0
    output_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerForm:
    """The form that an answer must have: a JSON schema and its name (letters, digits, `_`, `-`); at most so many tokens."""

    name: str
    schema: dict[str, Any]
    max_tokens: int | None = None


class ChatModel(Protocol):
    """A language model. Failures are `ModelError`s, never empty answers."""

    @property
    def name(self) -> str: ...

    async def chat(
        self, messages: Sequence[ChatMessage], tools: Sequence[Tool] = (), *, form: AnswerForm | None = None
    ) -> ChatAnswer:
        """The answer; with a `form` its content is a text that holds a JSON object, alone or among other words.

        An answer in a form is asked for at temperature 0, and one that was cut off is an error."""
        ...

    async def close(self) -> None: ...
