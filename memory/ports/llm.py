"""The ports of language models: chat, and batch endpoints."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol, runtime_checkable

from muniment.memory.errors import ModelError


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchRequest:
    """One prompt of a batch; `id` names its answer."""

    id: str
    messages: tuple[ChatMessage, ...]
    form: AnswerForm | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchResults:
    """The results of a batch by the ids of its requests: answers, failures, and the tokens (in, out) of both.

    A request without a result got no answer and cost nothing."""

    answers: dict[str, ChatAnswer] = field(default_factory=dict)
    failures: dict[str, ModelError] = field(default_factory=dict)
    tokens: dict[str, tuple[int, int]] = field(default_factory=dict)


class BatchModel(Protocol):
    """A language model behind a batch endpoint. Failures are `ModelError`s."""

    @property
    def name(self) -> str:
        """The model's name."""
        ...

    async def submit_batch(self, key: str, requests: Sequence[BatchRequest]) -> str:
        """Submit the prompts; return the endpoint's name of the batch. Two calls make two batches with one key.

        An error with `sent=False`, or with a status, means that no batch was made and, as far as is known, no file
        was left."""
        ...

    async def find_batch(self, key: str, since: datetime | None = None) -> str | None:
        """Return the endpoint's name of the batch that was submitted with this key since a time; None without one."""
        ...

    async def fetch_results(self, batch: str) -> BatchResults | None:
        """Return the results of the batch, None while it is under way. An expired or cancelled one may have some.

        Raises BatchFailed when the endpoint rejected it or does not have it."""
        ...

    async def cancel_batch(self, batch: str) -> None:
        """Cancel the batch. One that is over, or unknown, is cancelled already."""
        ...

    async def delete_files(self, batch: str) -> None:
        """Remove the batch's files at the endpoint, as far as the endpoint allows."""
        ...

    async def delete_orphaned_uploads(self, key: str) -> None:
        """Remove uploads with this key for which no batch was made."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A tool call that a model requests; `arguments` are parsed JSON."""

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
    """A model's answer and what it cost in tokens. `is_cut_off`: its text has reached the limit of tokens."""

    message: ChatMessage
    model: str
    input_tokens: int = 0
    output_tokens: int = 0
    is_cut_off: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerForm:
    """The form that an answer must have: a JSON schema, its name (letters, digits, `_`, `-`) and a limit of tokens."""

    name: str
    schema: dict[str, Any]
    max_tokens: int | None = None


class ChatModel(Protocol):
    """A language model. Failures are `ModelError`s, never empty answers."""

    @property
    def name(self) -> str:
        """The model's name."""
        ...

    async def chat(
        self, messages: Sequence[ChatMessage], tools: Sequence[Tool] = (), *, form: AnswerForm | None = None
    ) -> ChatAnswer:
        """Return the model's answer; with a `form` its content has a JSON object, alone or among other words.

        A request with a form has temperature 0, and an answer that was cut off is a ModelError."""
        ...

    async def close(self) -> None:
        """Close the connections to the model."""
        ...


@runtime_checkable
class StreamingModel(ChatModel, Protocol):
    """A language model that can also hand out its answer in parts."""

    def stream_chat(
        self, messages: Sequence[ChatMessage], tools: Sequence[Tool] = ()
    ) -> AsyncIterator[str | ChatAnswer]:
        """Yield the text of the answer as it comes, and last the whole answer. Raises ModelError."""
        ...
