"""The store port over HTTP, to the store of items of `muniment serve`."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeVar
from urllib.parse import urlencode
from uuid import UUID

import orjson
from pydantic import SecretStr, ValidationError

from muniment.memory.bootstrap.transports import create_transport
from muniment.memory.domain.gateway.exchange import HttpAnswer, HttpFailure, HttpRequest
from muniment.memory.errors import BadConfig, BadInput, RemoteStoreError
from muniment.memory.ports.transport import Transport
from muniment.plugin.domain.item import (
    CompactPolicy,
    CompactReport,
    ItemOwner,
    ListQuery,
    MemoryHit,
    MemoryItem,
    SearchQuery,
    StoredItem,
)
from muniment.plugin.domain.operation import MAX_OPERATIONS, ChangePage, Operation, OperationAnswer
from muniment.plugin.item_codec import check_item
from muniment.plugin.ports import OperationStore
from muniment.plugin.problems import NOT_SENT
from muniment.plugin.stores.remote.circuit import Circuit
from muniment.plugin.stores.remote.operation_shapes import (
    ChangesShape,
    OperationAnswersShape,
    OperationShape,
    OperationsShape,
)
from muniment.plugin.stores.remote.shapes import (
    MAX_ITEMS,
    MAX_PAGE,
    PROTOCOL,
    PROTOCOL_HEADER,
    TENANT_HEADER,
    CompactedShape,
    CompactShape,
    ForgetShape,
    ForgottenShape,
    HitsShape,
    ItemShape,
    ItemsShape,
    ListShape,
    PinnedShape,
    PinShape,
    SearchShape,
    Shape,
    StoredItemsShape,
    UpsertShape,
)

MAX_BYTES = 4 * 2**20  # of an answer
OTHER_VERSION = "other version"  # the category of a failure
_PROTOCOL_NAME, _RETRY_AFTER = PROTOCOL_HEADER.lower(), "retry-after"
_WANTED = (_PROTOCOL_NAME, _RETRY_AFTER)
_MAX_WAIT = 3_600  # seconds that a server may ask to wait
_HEAD_BYTES = 1_000  # of a refusal, in which its type stands
_FAILURES, _OPEN_SECONDS = 3, 30.0
_MOST_OBJECTS = 50_000  # of an answer: reading a million empty ones would hold up whoever reads
_Answer = TypeVar("_Answer", bound=Shape)
_Part = TypeVar("_Part")
_REFUSED = frozenset({400, 413, 422})  # what was asked cannot be done, by anybody
_TOO_LARGE = 413  # which half of it may not be, whoever says so
_DENIED = frozenset({401, 403})
_ABSENT = frozenset({404, 405})  # a service without a store, or another one


class RemoteStore(OperationStore):
    """Items on a server. Each request is sent once, within a time; after failures in a row none is sent for a while.

    Raises RemoteStoreError, a StoreDown, for a server that is away, slow, of another version or not to be believed, and
    for a token that does not permit it, and BadInput for a value that it cannot hold. No error holds anything of a
    request or an answer. The user and the tenant of each request are named: a token may speak for a whole tenant, and
    one of another tenant is refused."""

    def __init__(
        self,
        url: str,
        token: SecretStr,
        *,
        timeout_seconds: float,
        transport: Transport | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`url` is the address of the server, without a path of the store; `clock` gives seconds and never goes back.
        Nothing is sent yet. Raises BadConfig for an address that is none of HTTP."""
        if not url.startswith(("http://", "https://")):
            raise BadConfig("plugin.url: an address that begins with http:// or https:// is wanted")
        self._url, self._token, self._clock = url.rstrip("/"), token, clock
        self._transport = transport or create_transport(timeout_seconds=timeout_seconds, max_bytes=MAX_BYTES)
        self._circuit = Circuit(failures_to_open=_FAILURES, seconds=_OPEN_SECONDS)

    @property
    def is_open(self) -> bool:
        """Whether a request would be sent now. False for a while after failures in a row."""
        return not self._circuit.is_open(self._clock())

    async def search(self, query: SearchQuery) -> Sequence[MemoryHit]:
        """Return the items that the server finds where the owner is, best first. Raises as the class says."""
        body = _make_body(partial(SearchShape.from_query, query))
        found = await self._post("search", query.owner, body, HitsShape)
        return tuple(hit.to_hit(query.owner) for hit in found.hits)

    async def upsert(self, items: Sequence[MemoryItem]) -> Sequence[StoredItem]:
        """Write items, each once for its id and content, and return what became of each, in order. Raises as the class
        says; then it is not known which were written, and all may be sent again."""
        for item in items:
            check_item(item)
        stored: list[StoredItem] = []
        for part in _split(items, MAX_ITEMS, lambda item: (item.tenant_id, item.user_id)):
            owner = ItemOwner(tenant=part[0].tenant_id, user=part[0].user_id)
            body = _make_body(partial(_make_upsert, part))
            answer = await self._post("items", owner, body, StoredItemsShape)
            outcomes = [each.to_stored() for each in answer.items]
            if [each.given_id for each in outcomes] != [_normalize_id(item.id) for item in part]:
                raise RemoteStoreError("items", "other ids")
            stored += outcomes
        return stored

    async def forget(self, owner: ItemOwner, ids: Sequence[str]) -> Sequence[str]:
        """Forget items, and return the ids of those that were there. Raises as the class says."""
        found: list[str] = []
        for start in range(0, len(ids), MAX_ITEMS):
            part = [_normalize_id(id_) for id_ in ids[start : start + MAX_ITEMS]]
            place = {"project": owner.project, "session": owner.session}
            body = _make_body(partial(ForgetShape.model_validate, {**place, "ids": part}))
            answer = await self._post("forget", owner, body, ForgottenShape)
            there = [str(id_) for id_ in answer.ids]
            if not set(there).issubset(part):
                raise RemoteStoreError("forget", "other ids")
            found += there
        return found

    async def compact(self, owner: ItemOwner, policy: CompactPolicy) -> CompactReport:
        """Return how many items there are: the server looks after itself. Raises as the class says."""
        body = _make_body(partial(CompactShape.from_policy, owner, policy))
        return (await self._post("compact", owner, body, CompactedShape)).to_report()

    async def list(self, query: ListQuery) -> Sequence[MemoryItem]:
        """Return items, newest change first. Raises as the class says."""
        body = _make_body(partial(ListShape.from_query, query))
        answer = await self._post("list", query.owner, body, ItemsShape)
        return tuple(item.to_item(query.owner.tenant, query.owner.user) for item in answer.items[: query.limit])

    async def pin(self, owner: ItemOwner, item_id: str, *, pinned: bool) -> bool:
        """Pin or unpin an item, and return whether it was there. Raises as the class says."""
        place = {"project": owner.project, "session": owner.session}
        given = {**place, "id": _normalize_id(item_id), "pinned": pinned}
        body = _make_body(partial(PinShape.model_validate, given))
        return (await self._post("pin", owner, body, PinnedShape)).found

    async def close(self) -> None:
        """Close the connections."""
        await self._transport.close()

    async def apply_operations(self, operations: Sequence[Operation]) -> Sequence[OperationAnswer]:
        """Send operations in order, and return what became of each. The server carries each out once for its id.

        Raises as the other methods; then it is not known which were carried out, and all may be sent again."""
        answers: list[OperationAnswer] = []
        for part in _split(operations, MAX_OPERATIONS, lambda each: (each.owner.tenant, each.owner.user)):
            body = _make_body(partial(_make_operations, part))
            answer = await self._post("operations", part[0].owner, body, OperationAnswersShape)
            outcomes = [each.to_answer() for each in answer.results]
            if [each.operation_id for each in outcomes] != [_normalize_id(each.id) for each in part]:
                raise RemoteStoreError("operations", "other ids")
            answers += outcomes
        return answers

    async def read_changes(self, owner: ItemOwner, since: int, limit: int = MAX_PAGE) -> ChangePage:
        """Return how items are after the changes since a revision, oldest first. Raises as the other methods, BadInput
        for a revision that the server has not reached."""
        parameters = urlencode({"since": since, "limit": min(limit, MAX_PAGE)})
        answer = await self._send("changes", f"changes?{parameters}", owner, None, ChangesShape)
        if answer.next < since or any(not since < each.rev <= answer.next for each in answer.changes):
            raise RemoteStoreError("changes", "other revisions")
        return answer.to_page(owner)

    async def _post(self, operation: str, owner: ItemOwner, body: Shape, answer: type[_Answer]) -> _Answer:
        return await self._send(operation, operation, owner, body, answer)

    async def _send(
        self, operation: str, path: str, owner: ItemOwner, body: Shape | None, answer: type[_Answer]
    ) -> _Answer:
        """Send a request unless the circuit is open, and return its answer. Raises as the class says."""
        now = self._clock()
        if self._circuit.is_open(now):
            raise RemoteStoreError(operation, NOT_SENT)
        self._circuit = self._circuit.begin_request(now)
        request = HttpRequest(
            method="GET" if body is None else "POST",
            url=f"{self._url}/v1/store/{path}",
            encode_body=partial(_encode, body),
            make_headers=partial(self._make_headers, owner),
            wanted_headers=_WANTED,
        )
        has_ended = False
        try:
            outcome = await self._transport.send_request(request)
            has_ended = True
        finally:
            if not has_ended:
                self._circuit = self._circuit.note_cancellation()
        return self._read_outcome(operation, outcome, answer)

    def _read_outcome(self, operation: str, outcome: HttpAnswer | HttpFailure, answer: type[_Answer]) -> _Answer:
        """Return what an answer says, and note for the circuit whether it says anything."""
        if isinstance(outcome, HttpFailure) or outcome.status >= 500 or outcome.status == 429:
            self._circuit = self._circuit.note_failure(self._clock())
            category = outcome.category if isinstance(outcome, HttpFailure) else "http_error"
            error = RemoteStoreError(operation, category, outcome.status)
            if isinstance(outcome, HttpAnswer) and (seconds := _read_wait(outcome)) is not None:
                error.data["retry_after"] = seconds
            raise error
        if not outcome.is_success:
            self._circuit = self._circuit.note_success()
            raise _make_refusal(operation, outcome)
        if outcome.headers.get(_PROTOCOL_NAME) != str(PROTOCOL):
            self._circuit = self._circuit.note_failure(self._clock())
            raise RemoteStoreError(operation, OTHER_VERSION, outcome.status)
        parsed = _parse(outcome.content, answer)
        if parsed is None:
            self._circuit = self._circuit.note_failure(self._clock())
            raise RemoteStoreError(operation, "invalid answer", outcome.status)
        self._circuit = self._circuit.note_success()
        return parsed

    def _make_headers(self, owner: ItemOwner) -> Mapping[str, str]:
        return {
            "authorization": f"Bearer {self._token.get_secret_value()}",
            "accept": "application/json",
            "content-type": "application/json",
            "x-muniment-user": owner.user.encode().decode("latin-1"),
            TENANT_HEADER: owner.tenant.encode().decode("latin-1"),
            PROTOCOL_HEADER: str(PROTOCOL),
        }


def _make_refusal(operation: str, answer: HttpAnswer) -> RemoteStoreError | BadInput:
    """Return the error of an answer that refuses a request. The words of the answer are not repeated.

    What another server or another token would do is no fault of the request: it may be sent again later."""
    status = answer.status
    if status in _ABSENT or b'"ProtocolMismatch"' in answer.content[:_HEAD_BYTES]:
        return RemoteStoreError(operation, OTHER_VERSION, status)
    if status in _REFUSED and (status == _TOO_LARGE or _is_own_error(answer.content)):
        return BadInput(f"the store of items cannot hold or do this: {operation}, status {status}")
    return RemoteStoreError(operation, "not permitted" if status in _DENIED else "http_error", status)


def _is_own_error(content: bytes) -> bool:
    """Whether a refusal is the service's own: something between may answer for it, and knows nothing of the request."""
    try:
        answer = orjson.loads(content)
    except orjson.JSONDecodeError:
        return False
    return isinstance(answer, dict) and isinstance(answer.get("error"), dict)


def _read_wait(answer: HttpAnswer) -> int | None:
    """Return the seconds after which a server wants to be asked again; None where it does not say a number."""
    text = answer.headers.get(_RETRY_AFTER, "").strip()
    return min(int(text), _MAX_WAIT) if text.isascii() and text.isdecimal() and len(text) < 10 else None


def _parse(content: bytes, answer: type[_Answer]) -> _Answer | None:
    """Return an answer of this shape; None for anything else."""
    if content.count(b"{") + content.count(b"[") > _MOST_OBJECTS:
        return None
    try:
        return answer.model_validate(orjson.loads(content))
    except (orjson.JSONDecodeError, ValidationError):
        return None


def _make_body(make: Callable[[], _Part]) -> _Part:
    """Return a body. Raises BadInput for a value that it cannot hold; it names the field, and not the value."""
    try:
        return make()
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False, include_context=False)[0]
        message = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    except ValueError:
        message = "id: a UUID is wanted"
    raise BadInput(message)


def _make_upsert(items: Sequence[MemoryItem]) -> UpsertShape:
    return UpsertShape(items=[ItemShape.from_item(item) for item in items])


def _make_operations(operations: Sequence[Operation]) -> OperationsShape:
    return OperationsShape(operations=[OperationShape.from_operation(each) for each in operations])


def _normalize_id(text: str) -> str:
    """Return an id in its usual form. Raises BadInput for what is no UUID."""
    return str(_make_body(partial(UUID, text)))


def _encode(body: Shape | None) -> bytes:
    return b"" if body is None else body.model_dump_json().encode()


def _split(
    parts: Sequence[_Part], most: int, find_owner: Callable[[_Part], tuple[str, str]]
) -> Sequence[Sequence[_Part]]:
    """Split values in order into runs of one owner, of so many at most: a request is for one user."""
    runs: list[list[_Part]] = []
    for each in parts:
        if not runs or len(runs[-1]) >= most or find_owner(runs[-1][0]) != find_owner(each):
            runs.append([])
        runs[-1].append(each)
    return runs
