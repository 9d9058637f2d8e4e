"""OpenAI's batch endpoint: `/files` and `/batches` around the bodies of `/chat/completions`."""

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

_KEY = "muniment"  # the field of a batch's metadata with our key
_FINAL_STATUSES = frozenset({"completed", "expired", "cancelled"})
_PAGE = 100  # batches of the account, the newest first
_FILES = 1_000
_CLOCK_MARGIN = timedelta(days=2)  # by which clocks may differ
_REFUSED = frozenset({400, 403, 404, 405, 409, 422, 501})
_NOT_FOUND = 404
_UNCANCELLABLE = frozenset({400, _NOT_FOUND, 409})  # a batch that is over, or never existed
_LATE_CODES = frozenset({"batch_expired", "batch_cancelled"})
_OK = 200


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
        """Return the name of the chat model."""
        return self._chat.name

    async def submit_batch(self, key: str, requests: Sequence[BatchRequest]) -> str:
        """Submit the requests as a batch with this key and return its id at the endpoint. Raises ModelError.

        The error has `sent=False` or a status when no batch was made."""
        lines = [
            {
                "custom_id": request.id,
                "method": "POST",
                "url": "/v1/chat/completions",
                "body": self._chat.build_body(request.messages, form=request.form),
            }
            for request in requests
        ]
        content = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines).encode()
        file = await self._upload_file(key, content)
        try:
            with _translate_batch_errors(self._chat):
                created = await self._client.batches.create(
                    input_file_id=file,
                    endpoint="/v1/chat/completions",
                    completion_window="24h",
                    metadata={_KEY: key},
                )
                return _check_batch(created).id
        except ModelError as error:
            if is_unbilled(error):  # else the batch may exist and need its file
                with suppress(ModelError):
                    await self._delete_file(file)
            raise

    async def find_batch(self, key: str, since: datetime | None = None) -> str | None:
        """Return the id of the batch with this key, made after `since`; None if there is none. Raises ModelError."""
        listed: set[str] = set()
        older = 0
        with _translate_batch_errors(self._chat):
            async for batch in self._client.batches.list(limit=_PAGE):
                if (batch.metadata or {}).get(_KEY) == key:
                    return batch.id
                older = older + 1 if since and batch.created_at < (since - _CLOCK_MARGIN).timestamp() else 0
                # The newest come first, more or less. An endpoint without pages sends the same list again.
                if older == _PAGE or batch.id in listed:
                    break
                listed.add(batch.id)
        return None

    async def fetch_results(self, batch: str) -> BatchResults | None:
        """Return the results of a batch; None while it runs. Raises BatchFailed, ModelError.

        A batch that has expired or was cancelled has the answers that came in time."""
        state = await self._retrieve_batch(batch)
        if state is None:
            raise BatchFailed("The endpoint knows no such batch.", model=self.name)
        if state.status == "failed":
            raise BatchFailed(model=self.name)
        if state.status not in _FINAL_STATUSES:
            return None
        results = BatchResults()
        for file in (state.output_file_id, state.error_file_id):
            if file:
                with _translate_batch_errors(self._chat):
                    content = (await self._client.files.content(file)).text
                for line in _parse_lines(content):
                    results = self._add_line(results, line)
        return results

    async def cancel_batch(self, batch: str) -> None:
        """Cancel a batch; one that is over or unknown counts as cancelled. Raises ModelError."""
        with _translate_batch_errors(self._chat, ignored_statuses=_UNCANCELLABLE):
            await self._client.batches.cancel(batch)

    async def delete_files(self, batch: str) -> None:
        """Delete the files of a batch, if the endpoint lets files be deleted. Raises ModelError."""
        state = await self._retrieve_batch(batch)
        for file in (state.input_file_id, state.output_file_id, state.error_file_id) if state else ():
            if file:
                await self._delete_file(file)

    async def delete_orphaned_uploads(self, key: str) -> None:
        """Delete the files that were uploaded with this key for a batch that was never made. Raises ModelError."""
        listed: set[str] = set()
        orphans = []
        with _translate_batch_errors(self._chat, ignored_statuses=_REFUSED):
            async for file in self._client.files.list(purpose="batch", limit=_FILES):
                if file.id in listed:
                    break
                listed.add(file.id)
                if file.filename == _build_file_name(key):
                    orphans.append(file.id)
        for orphan in orphans:
            await self._delete_file(orphan)

    async def _upload_file(self, key: str, content: bytes) -> str:
        """Upload a file and return its id. Raises ModelError with `sent=False`: without a file there is no batch."""
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
                await self.delete_orphaned_uploads(key)  # the file may exist in spite of the error
            raise

    async def _delete_file(self, file: str) -> None:
        """Delete a file; ignore that it is gone or that the endpoint deletes no files. Raises ModelError."""
        with _translate_batch_errors(self._chat, ignored_statuses=_REFUSED):
            await self._client.files.delete(file)

    async def _retrieve_batch(self, batch: str) -> Batch | None:
        """Return the state of a batch; None if the endpoint does not know it. Raises ModelError."""
        try:
            with _translate_batch_errors(self._chat):
                return _check_batch(await self._client.batches.retrieve(batch))
        except ModelError as error:
            if error.data.get("status") == _NOT_FOUND:
                return None
            raise

    def _add_line(self, results: BatchResults, line: _Line) -> BatchResults:
        """Return the results with one line of a file. The tokens of an unusable answer count like any other."""
        body = line.response.body if line.response and line.response.status_code == _OK else None
        if body is None:
            late = line.error is not None and line.error.code in _LATE_CODES
            failure = ModelTimeout(model=self.name) if late else ModelError(model=self.name)
            return replace(results, failures=results.failures | {line.custom_id: failure})
        usage = Usage()
        with suppress(ValidationError):
            usage = Usage.model_validate(body.get("usage") or {})
        spent = usage.prompt_tokens or 0, usage.completion_tokens or 0
        results = replace(results, tokens=results.tokens | {line.custom_id: spent})
        try:
            # Every prompt of a batch requests structured output: an answer that was cut off is useless.
            answer = self._chat.parse_answer(json.dumps(body), formed=True)
        except BadModelAnswer as error:
            return replace(results, failures=results.failures | {line.custom_id: error})
        return replace(results, answers=results.answers | {line.custom_id: answer})


@contextmanager
def _translate_batch_errors(chat: OpenAIChat, *, ignored_statuses: Collection[int] = ()) -> Iterator[None]:
    """Raise failures as `translate_errors` does, and BadModelAnswer for an answer that is no JSON.

    An error with one of the ignored statuses is dropped."""
    try:
        with translate_errors(chat.name, chat.client, chat.names):
            try:
                yield
            except ValueError:
                raise BadModelAnswer(model=chat.name) from None
    except ModelError as error:
        if error.data.get("status") not in ignored_statuses:
            raise


def _parse_lines(content: str) -> Iterator[_Line]:
    # Not splitlines: a text may hold other characters that end a line.
    for text in filter(str.strip, content.split("\n")):
        # A line that cannot be read names no request, so that request has no answer.
        with suppress(ValidationError):
            yield _Line.model_validate_json(text)


def _build_file_name(key: str) -> str:
    """Return the name of the file that is uploaded for the batch with this key."""
    return f"{key}.jsonl"


def _check_batch(batch: Any) -> Batch:
    """Check the fields of a batch, which the client does not. Raises OpenAIError."""
    if not all(isinstance(getattr(batch, name, None), str) for name in ("id", "status", "input_file_id")):
        raise openai.OpenAIError
    return batch  # type: ignore[no-any-return]
