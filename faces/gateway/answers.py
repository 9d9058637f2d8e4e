"""The bodies of the gateway's answers, as OpenAPI shows them."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field

from muniment.memory.domain.layers.chat import RecallScope


class ResultAnswer(BaseModel):
    """What was recalled: a memory, or a message of the chat of which nothing was kept."""

    id: str
    session_id: str | None = Field(description="Where it was said; null of what was said in no session.")
    text: str
    score: float = Field(description="The first has the highest. Scores of two requests are not of one scale.")
    source_scope: RecallScope = Field(
        description="Of the scopes that were asked for, the first of current_chat, resources, all_user_memory it is of."
    )
    resource_uri: str | None = Field(description="Of the document it was taken from.")
    raw: dict[str, Any] = Field(description="The memory or the message with its other fields, for programs.")


class SearchAnswer(BaseModel):
    """What was recalled, best first."""

    results: list[ResultAnswer]


class AddAnswer(BaseModel):
    """What became of the messages: `unchanged` if the chat had all of them already."""

    status: Literal["added", "unchanged"]
    added: int = Field(description="How many of the messages are new.")


class FlushAnswer(BaseModel):
    """Whether something was kept of the messages since the last flush."""

    status: Literal["extracted", "no_extraction"]


class HealthAnswer(BaseModel):
    """The process lives."""

    status: Literal["ok"]
    version: str


class ReadyAnswer(BaseModel):
    """Requests are wanted."""

    status: Literal["ready"]
