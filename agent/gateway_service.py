"""What an agent asks of a memory gateway around a run. Its failures are events, never errors."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal, TypeAlias

from muniment.agent.gateway_reference import render_reference
from muniment.agent.memory_section import MemoryConfig
from muniment.memory.bootstrap import open_gateway
from muniment.memory.domain.gateway.config import GatewayConfig
from muniment.memory.domain.gateway.wire import GatewayMessage
from muniment.memory.errors import GatewayError
from muniment.memory.ports.gateway import Gateway

ASSISTANT = "beaver"  # the sender of an assistant's messages, a name of the wire format
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

AuditName: TypeAlias = Literal[
    "memory_gateway_recall_succeeded", "memory_gateway_recall_failed",
    "memory_gateway_add_succeeded", "memory_gateway_add_failed",
    "memory_gateway_flush_succeeded", "memory_gateway_flush_failed",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class AuditEvent:
    """What became of an operation, for the session's hidden events: no key, no text of anybody."""

    name: AuditName
    fields: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Recall:
    """The text of the reference message, None where there is nothing to show, and the event of the recall."""

    reference: str | None
    audit: AuditEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """The user's prompt as it was written and the final answer, with their times, which have a time zone."""

    prompt: str
    asked_at: datetime
    answer: str
    answered_at: datetime


class GatewayService:
    """The memory gateway of an agent. No method raises anything for a failure of the gateway."""

    def __init__(self, gateway: Gateway, config: GatewayConfig) -> None:
        self._gateway, self._config = gateway, config

    async def recall_before_run(self, session: str, prompt: str) -> Recall:
        """Search for the prompt, once."""
        try:
            items = await self._gateway.search(session, prompt)
        except GatewayError as error:
            return Recall(None, AuditEvent("memory_gateway_recall_failed", _describe_failure(error)))
        reference, count = render_reference(items)
        fields = {"scopes": list(self._config.scope), "result_count": count}
        return Recall(reference, AuditEvent("memory_gateway_recall_succeeded", fields))

    async def persist_after_run(self, session: str, exchange: Exchange) -> tuple[AuditEvent, ...]:
        """Add the two messages of a run that has ended normally, once, then flush their session, once. Return an event
        for each request that was sent: without a successful add there is no flush."""
        chat = f"chat:{session}"
        messages = self._build_messages(exchange)
        try:
            await self._gateway.add(chat, messages)
        except GatewayError as error:
            return (AuditEvent("memory_gateway_add_failed", _describe_failure(error)),)
        added = AuditEvent("memory_gateway_add_succeeded", {"session_id": chat, "message_count": len(messages)})
        try:
            await self._gateway.flush(chat)
        except GatewayError as error:
            failure = _describe_failure(error) | {"add_succeeded": True}
            return added, AuditEvent("memory_gateway_flush_failed", failure)
        return added, AuditEvent("memory_gateway_flush_succeeded", {"session_id": chat})

    async def check_reachable(self) -> bool:
        """Whether the gateway answers at all, within the configured time. It raises nothing."""
        return await self._gateway.check_reachable()

    def _build_messages(self, exchange: Exchange) -> list[GatewayMessage]:
        asked = max(1, _to_milliseconds(exchange.asked_at))
        answered = max(asked + 1, _to_milliseconds(exchange.answered_at))  # a clock may stand still or go back
        user = self._config.user_id
        return [
            GatewayMessage(sender_id=user, role="user", timestamp=asked, content=exchange.prompt),
            GatewayMessage(sender_id=ASSISTANT, role="assistant", timestamp=answered, content=exchange.answer),
        ]


@asynccontextmanager
async def open_gateway_service(config: MemoryConfig) -> AsyncIterator[GatewayService | None]:
    """Open the service of a configuration; None in the mode `curated` and where the gateway is degraded. Leaving the
    context closes its connections."""
    if config.gateway is None:
        yield None
        return
    async with open_gateway(config.gateway) as gateway:
        yield GatewayService(gateway, config.gateway)


def _describe_failure(error: GatewayError) -> dict[str, object]:
    status = {} if error.status is None else {"status": error.status}
    return {"operation": error.operation, "category": error.category, **status}


def _to_milliseconds(at: datetime) -> int:
    return (at - _EPOCH) // timedelta(milliseconds=1)
