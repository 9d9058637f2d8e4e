"""The state of the graph `hybrid`. What a run reads of the two memories is in no checkpoint."""

from __future__ import annotations

from typing import Annotated

from langchain_core.messages import AnyMessage
from langgraph.channels import UntrackedValue
from langgraph.graph.message import add_messages
from pydantic import Field
from typing_extensions import TypedDict  # Pydantic refuses typing's own on Python 3.11, and the server needs a schema


class HybridOutput(TypedDict, total=False):
    """What a run returns."""

    messages: Annotated[list[AnyMessage], Field(description="The conversation, whose last message is the answer.")]
    session: Annotated[str, Field(description="The session, by which the ledger and the gateway know it.")]
    reply: Annotated[str, Field(description="The text of the answer.")]


class HybridState(TypedDict, total=False):
    """A thread: its messages, redacted, and of its latest run what the nodes hand on to each other."""

    messages: Annotated[list[AnyMessage], add_messages]
    space: str  # the owner's space; lasts
    session: str  # lasts
    asked: list[str]  # ids of the user's messages of the latest run
    at: str  # when the latest message was said, ISO: the next one is later
    prompt: Annotated[str, UntrackedValue]  # as the person has written it
    asked_at: Annotated[str, UntrackedValue]  # ISO
    curated: Annotated[str, UntrackedValue]  # the blocks of the curated files
    reference: Annotated[str, UntrackedValue]  # what the gateway has recalled; empty: nothing
    reply: Annotated[str, UntrackedValue]
