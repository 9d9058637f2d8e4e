"""The batch endpoint of whoever speaks OpenAI's protocol: `/files` and `/batches` around the bodies of `/chat/completions`."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import openai
from openai.types import Batch
from pydantic import BaseModel, ConfigDict, ValidationError

from muniment.memory.errors import BadModelAnswer, BatchFailed, ModelError, ModelTimeout
from muniment.memory.models.openai.chat import OpenAIChat, Usage
from muniment.memory.models.openai.client import translate_errors
from muniment.memory.ports.llm import BatchRequest, BatchResults
from muniment.memory.rules.policy.cost import is_unbilled

_KEY = "muniment"  # what our name of a batch is called in its metadata
_OVER = frozenset({"completed", "expired", "cancelled"})
_PAGE = 100  # batches of the account, the newest first
_FILES = 1_000
_MARGIN = timedelta(days=2)  # by which clocks may differ
_REFUSED = frozenset({400, 403, 404, 405, 409, 422, 501})
_UNKNOWN = 404
_NOT_TO_BE_CANCELLED = frozenset({400, _UNKNOWN, 409})  # what is over, or was never there
_LATE = frozenset({"batch_expired", "batch_cancelled"})
_FINE = 200


class _ResponsePart(BaseModel):
    model_config = ConfigDict(hide_input_in_errors=True)


class _Response(_ResponsePart):
    status_code: int
    body: dict[str, Any] | None = None


class _LineError(_ResponsePart):
    code: str | None = None


class _Line(_ResponsePart):
    custom_id: str
    response: _Response | None = None
    error: _LineError | None = None


class OpenAIBatches:
    """The batch endpoint beside a chat model: the same requests, answered within 24 hours."""

    def __init__(self, chat: OpenAIChat) -> None:
        self._chat, self._client = chat, chat.client

    @property
    def name(self) -> str:
        return self._chat.name

    async def submit_batch(self, key: str, requests: Sequence[BatchRequest]) -> str:
        """See `BatchModel.submit`. Raises ModelError."""
        lines = [
            {
                "custom_id": one.id,
                "method": "POST",
                "url": "/v1/chat/completions",
                "body": self._chat.build_body(one.messages, form=one.form),
            }
            for one in requests
        ]
        content = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines).encode()
        file = await self._upload_file(key, content)
        try:
            with _translate_batch_errors(self._chat):
                made = await self._client.batches.create(
                    input_file_id=file,
                    endpoint="/v1/chat/completions",
                    completion_window="24h",
                    metadata={_KEY: key},
                )
                return _check_batch(made).id
        except ModelError as error:
            if is_unbilled(error):  # else the batch may be there, and want its file
                with suppress(ModelError):
                    await self._delete_file(file)
            raise

    async def find_batch(self, key: str, since: datetime | None = None) -> str | None:
        """See `BatchModel.find`. Raises ModelError."""
        seen: set[str] = set()
        older = 0
        with _translate_batch_errors(self._chat):
            async for one in self._client.batches.list(limit=_PAGE):
                if (one.metadata or {}).get(_KEY) == key:
                    return one.id
                older = older + 1 if since and one.created_at < (since - _MARGIN).timestamp() else 0
                # The newest come first, more or less; and an endpoint that knows no pages begins anew.
                if older == _PAGE or one.id in seen:
                    break
                seen.add(one.id)
        return None

    async def fetch_results(self, batch: str) -> BatchResults | None:
        """See `BatchModel.collect`. Raises BatchFailed, ModelError."""
        found = await self._retrieve_batch(batch)
        if found is None:
            raise BatchFailed("The endpoint knows no such batch.", model=self.name)
        if found.status == "failed":
            raise BatchFailed(model=self.name)
        if found.status not in _OVER:
            return None
        collected = BatchResults()
        for file in (found.output_file_id, found.error_file_id):
            if file:
                with _translate_batch_errors(self._chat):
                    content = (await self._client.files.content(file)).text
                for line in _parse_lines(content):
                    collected = self._add_line(collected, line)
        return collected

    async def cancel_batch(self, batch: str) -> None:
        """See `BatchModel.cancel`. Raises ModelError."""
        with _translate_batch_errors(self._chat, ignored_statuses=_NOT_TO_BE_CANCELLED):
            await self._client.batches.cancel(batch)

    async def delete_files(self, batch: str) -> None:
        """See `BatchModel.forget`. Raises ModelError."""
        found = await self._retrieve_batch(batch)
        for file in (found.input_file_id, found.output_file_id, found.error_file_id) if found else ():
            if file:
                await self._delete_file(file)

    async def delete_orphaned_uploads(self, key: str) -> None:
        """See `BatchModel.tidy`. Raises ModelError."""
        seen: set[str] = set()
        mine = []
        with _translate_batch_errors(self._chat, ignored_statuses=_REFUSED):
            async for one in self._client.files.list(purpose="batch", limit=_FILES):
                if one.id in seen:
                    break
                seen.add(one.id)
                if one.filename == _build_file_name(key):
                    mine.append(one.id)
        for file in mine:
            await self._delete_file(file)

    async def _upload_file(self, key: str, content: bytes) -> str:
        """The endpoint's name of a new file. Raises ModelError with `sent=False`: without a file there is no batch."""
        try:
            with _translate_batch_errors(self._chat):
                file = await self._client.files.create(
                    file=(_build_file_name(key), content, "application/jsonl"), purpose="batch"
                )
                if not isinstance(file.id, str):
                    raise openai.OpenAIError
                return file.id
        except ModelError as error:
            error.data["sent"] = False
            with suppress(ModelError):
                await self.delete_orphaned_uploads(key)  # it may be there all the same
            raise

    async def _delete_file(self, file: str) -> None:
        """Delete a file. One that is gone is deleted; and not every endpoint lets files be deleted. Raises ModelError."""
        with _translate_batch_errors(self._chat, ignored_statuses=_REFUSED):
            await self._client.files.delete(file)

    async def _retrieve_batch(self, batch: str) -> Batch | None:
        try:
            with _translate_batch_errors(self._chat):
                return _check_batch(await self._client.batches.retrieve(batch))
        except ModelError as error:
            if error.data.get("status") == _UNKNOWN:
                return None
            raise

    def _add_line(self, collected: BatchResults, line: _Line) -> BatchResults:
        """What was collected, and one line of a file. An answer that cannot be used is paid for like any other."""
        body = line.response.body if line.response and line.response.status_code == _FINE else None
        if body is None:
            late = line.error is not None and line.error.code in _LATE
            failure = ModelTimeout(model=self.name) if late else ModelError(model=self.name)
            return replace(collected, failures=collected.failures | {line.custom_id: failure})
        used = _parse_usage(body)
        spent = used.prompt_tokens or 0, used.completion_tokens or 0
        collected = replace(collected, tokens=collected.tokens | {line.custom_id: spent})
        try:
            # Every prompt of a batch wants an answer in a form: one that was cut off is none.
            answer = self._chat.parse_answer(json.dumps(body), formed=True)
        except BadModelAnswer as error:
            return replace(collected, failures=collected.failures | {line.custom_id: error})
        return replace(collected, answers=collected.answers | {line.custom_id: answer})


@contextmanager
def _translate_batch_errors(chat: OpenAIChat, *, ignored_statuses: Collection[int] = ()) -> Iterator[None]:
    """As for a chat, and an answer that is no JSON, of which the client says nothing of its own. These refusals are `fine`."""
    try:
        with translate_errors(chat.name, chat.client):
            try:
                yield
            except ValueError:
                raise BadModelAnswer(model=chat.name) from None
    except ModelError as error:
        if error.data.get("status") not in ignored_statuses:
            raise


def _parse_lines(content: str) -> Iterator[_Line]:
    # By line ends alone: other characters that end a line may be in a text.
    for text in filter(str.strip, content.split("\n")):
        # A line that cannot be read names no request: that one got no answer.
        with suppress(ValidationError):
            yield _Line.model_validate_json(text)


def _build_file_name(key: str) -> str:
    """How a file is called that is uploaded for the batch of this key."""
    return f"{key}.jsonl"


def _parse_usage(body: dict[str, Any]) -> Usage:
    with suppress(ValidationError):
        return Usage.model_validate(body.get("usage") or {})
    return Usage()


def _check_batch(batch: Any) -> Batch:
    """The client builds what it is sent without a check, and without what it was not sent."""
    if not all(isinstance(getattr(batch, name, None), str) for name in ("id", "status", "input_file_id")):
        raise openai.OpenAIError
    return batch  # type: ignore[no-any-return]
