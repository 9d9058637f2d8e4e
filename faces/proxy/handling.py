"""The handling of one request: memory goes before it, the upstream answers it, and what was said is kept afterwards."""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass

import httpx2
from starlette.types import Send

from muniment.faces.proxy.errors import MEMORY_HEADER
from muniment.faces.proxy.exchange import Exchange
from muniment.faces.proxy.incoming import Incoming
from muniment.faces.proxy.logs import LOG
from muniment.faces.proxy.preparing.prepared import Prepared
from muniment.faces.proxy.preparing.requests import prepare_request
from muniment.faces.proxy.service import ProxyService
from muniment.faces.proxy.storing import Announcement, store_exchange
from muniment.faces.proxy.upstream import forwarding
from muniment.faces.proxy.upstream.collecting import Answer, Collector, NotCollected, Read
from muniment.faces.proxy.upstream.joining import join_chunks

_SHORT = 32_000  # bytes that are read faster than a thread takes them


class _CutOff(Exception):
    """The upstream went away in the middle of its answer."""


@dataclass(slots=True)
class _Seen:
    """What is seen of an answer while it passes."""

    status: int = 0  # 0: there is no answer
    content_type: str = ""
    encoding: str = ""
    is_whole: bool = False

    def begin(self, answer: httpx2.Response) -> None:
        """Note the head of an answer."""
        self.status = answer.status_code
        self.content_type = answer.headers.get("content-type", "")
        self.encoding = answer.headers.get("content-encoding", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Handling:
    """What is done with one request. Each has its own, and nothing in it changes."""

    service: ProxyService
    incoming: Incoming

    async def answer_request(self, send: Send) -> None:
        """Forward the request with what memory has for it, and pass the answer on as it comes. Raises Refusal where
        the proxy itself has to answer.

        An answer that the upstream cuts off is cut off here, too: nothing ends it."""
        prepared = await prepare_request(self.service, self.incoming)
        collector, seen = Collector(), _Seen()
        try:
            await self._pass_answer(prepared, collector, seen, send)
        except _CutOff:
            LOG.warning("the upstream cut its answer off after %d bytes", collector.size)
        finally:
            if seen.status:
                seconds = time.monotonic() - self.incoming.began
                announcement = self.service.storing.announce_exchange(self.incoming.token.scope)
                self.service.background.start_work(self._finish(prepared, collector, seen, seconds, announcement))

    async def _pass_answer(self, prepared: Prepared, collector: Collector, seen: _Seen, send: Send) -> None:
        incoming, config = self.incoming, self.incoming.config
        url = forwarding.build_url(config.llm_base_url, incoming.raw_path, incoming.query)
        headers = forwarding.choose_request_headers(incoming.headers, incoming.secret, config.llm_api_key)
        seconds = config.http_timeout or self.service.settings.proxy.http_timeout
        LOG.debug("upstream: %s with %d bytes", incoming.method, len(prepared.body))
        async with forwarding.open_answer(
            self.service.client, incoming.method, url, headers, prepared.body, seconds
        ) as answer:
            seen.begin(answer)
            LOG.debug("upstream: %d after %.1f ms", seen.status, (time.monotonic() - incoming.began) * 1000)
            shown = [(MEMORY_HEADER.encode(), prepared.summary.encode())] if prepared.summary else []
            await send(
                {
                    "type": "http.response.start",
                    "status": seen.status,
                    "headers": [*forwarding.choose_answer_headers(answer.headers.raw), *shown],
                }
            )
            try:
                async with contextlib.aclosing(join_chunks(answer.aiter_raw())) as chunks:
                    async for chunk in chunks:
                        await send({"type": "http.response.body", "body": chunk, "more_body": True})
                        collector.add_chunk(chunk)
            except httpx2.TransportError:
                raise _CutOff from None
            seen.is_whole = True
        await send({"type": "http.response.body", "body": b""})

    async def _finish(
        self, prepared: Prepared, collector: Collector, seen: _Seen, seconds: float, announcement: Announcement
    ) -> None:
        """Keep what was said, and count it. Failure is a line in the log."""
        with announcement:
            exchange = await self._make_exchange(prepared, collector, seen, seconds)
            if prepared.memory is not None and exchange.is_stored:
                config, rules = self.incoming.config, self.service.settings.proxy
                await store_exchange(
                    prepared.memory,
                    self.incoming.token.scope,
                    exchange,
                    days=config.history_days,
                    timeout_seconds=config.memory_store_timeout or rules.memory_store_timeout,
                    announcement=announcement,
                    window=prepared.window,
                )
        LOG.debug("memory: the exchange is %s", "kept" if exchange.is_stored else "not to be kept")
        if self.service.account is not None:
            await self.service.account(self.incoming.token.grant.id, exchange)
        self.service.heap.note_body(max(len(self.incoming.body), collector.size))

    async def _make_exchange(self, prepared: Prepared, collector: Collector, seen: _Seen, seconds: float) -> Exchange:
        incoming = self.incoming
        answer = Answer(None, None)
        if prepared.read is not None and collector.size:
            try:
                answer = await _read_answer(collector, seen, prepared.read)
            except NotCollected as error:
                LOG.warning("the answer is not stored: %s", error)
        return Exchange(
            request_id=incoming.request_id,
            messages=prepared.messages,
            answer=answer.message,
            recalled=prepared.found.lines,
            usage=answer.usage,
            memories=len(prepared.found.lines),
            bytes_in=len(incoming.body),
            bytes_out=collector.size,
            seconds=seconds,
            status=seen.status,
            at=incoming.at,
            is_stored=incoming.privacy == "on" and prepared.memory is not None and seen.status < 400,
        )


async def _read_answer(collector: Collector, seen: _Seen, read: Read) -> Answer:
    """Return what an answer says; a long one is read in a thread. Raises NotCollected."""
    if collector.size <= _SHORT:
        return collector.read_answer(seen.content_type, seen.encoding, read, is_whole=seen.is_whole)
    return await asyncio.to_thread(
        collector.read_answer, seen.content_type, seen.encoding, read, is_whole=seen.is_whole
    )
