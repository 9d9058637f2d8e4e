"""The administration of tokens: `/v1/admin/tokens`, and what they were used for: `/v1/admin/usage`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any
from uuid import UUID

from pydantic import SecretStr
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from muniment.faces.proxy.accounts import DEFAULT_DAYS, read_usage
from muniment.faces.proxy.errors import BadRequest, Refusal
from muniment.faces.proxy.logs import LOG
from muniment.faces.proxy.storing import StoringOrder
from muniment.memory import bootstrap, codec
from muniment.memory.bootstrap import ProxyAccounts, TokenConfigs
from muniment.memory.config.settings import Settings
from muniment.memory.configured import ConfiguredMemories
from muniment.memory.domain.scope import Grant, Scope as MemoryScope
from muniment.memory.domain.tokens.config import TokenDetail
from muniment.memory.errors import BadInput, Conflict, NotFound, StoreError, TokenConfigError

_ADDRESS, _USAGE = "/v1/admin/tokens", "/v1/admin/usage"
_NO_TOKEN = "there is no such token"  # noqa: S105 - words about tokens
_NO_ADMIN = "the token does not permit this: it wants an administrator's, of this service and of no user"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Administration:
    """An ASGI application; its requests have the `grant` of who asks in their state. It raises Refusal.

    `accounts` and `configs` are opened as the owner of the tables. `memories` are told what has changed, and `storing`
    says what is still being stored."""

    accounts: ProxyAccounts
    configs: TokenConfigs
    memories: ConfiguredMemories
    settings: Settings
    storing: StoringOrder
    _erasing: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        request = Request(scope, receive)
        try:
            response = await self._answer(request)
        except TokenConfigError as error:
            raise Refusal(422, "invalid_token_config", str(error), param=error.data.get("field")) from None
        except NotFound:
            raise Refusal(404, "not_found", _NO_TOKEN) from None
        except Conflict as error:
            raise Refusal(409, "conflict", str(error), may_retry=True) from None
        except StoreError:
            raise Refusal(503, "store_unavailable", "the database does not answer", may_retry=True) from None
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        self._check_administrator(request.state.grant)
        path = request.scope["path"].removeprefix(request.scope.get("root_path", "")).rstrip("/")
        if path == _ADDRESS:
            return await self._answer_all(request)
        if path == _USAGE:
            return await self._answer_usage(request)
        if path.rpartition("/")[0] == _ADDRESS:
            return await self._answer_one(request, _read_id(path))
        raise Refusal(404, "not_found", "There is no such address.")

    async def _answer_all(self, request: Request) -> Response:
        if request.method == "GET":
            return JSONResponse({"object": "list", "data": [show_token(each) for each in await self.configs.list()]})
        if request.method == "POST":
            token, made = await self.configs.register(await _read_fields(request))
            LOG.info("token %s: registered", made.grant.id)
            return JSONResponse(show_token(await self.configs.get(made.grant.id), token), 201)
        return _refuse_method("GET, POST")

    async def _answer_one(self, request: Request, id_: UUID) -> Response:
        if request.method == "GET":
            return JSONResponse(show_token(await self.configs.get(id_)))
        if request.method in ("PUT", "PATCH"):
            detail = await self.configs.update(id_, await _read_fields(request))
            await self.memories.invalidate(id_)
            LOG.info("token %s: updated", id_)
            return JSONResponse(show_token(detail))
        if request.method == "DELETE":
            return JSONResponse(await self._delete_token(request, id_))
        return _refuse_method("GET, PUT, PATCH, DELETE")

    async def _answer_usage(self, request: Request) -> Response:
        if request.method != "GET":
            return _refuse_method("GET")
        given = {name: request.query_params.get(name) for name in ("token", "days")}
        try:
            token = None if given["token"] is None else UUID(given["token"])
            days = DEFAULT_DAYS if given["days"] is None else int(given["days"])
        except ValueError:
            raise BadRequest("query", "wants `token` to be an id and `days` a whole number") from None
        try:
            return JSONResponse(await read_usage(self.accounts, token, days))
        except BadInput as error:
            raise BadRequest("query", str(error)) from None

    def _check_administrator(self, grant: Grant) -> None:
        """Raise Refusal for who may not do this: whoever changes tokens changes those of everybody."""
        is_of_all = grant.owner is None and not grant.agents and not grant.projects
        is_unlimited = is_of_all and grant.tenant == self.settings.tenant
        if not grant.permits("admin") or not is_unlimited:
            raise Refusal(403, "not_permitted", _NO_ADMIN)

    async def _delete_token(self, request: Request, id_: UUID) -> Mapping[str, Any]:
        erase = request.query_params.get("erase", "false")
        if erase not in ("true", "false"):
            raise BadRequest("erase", "is not known; true or false is wanted")
        answer = {"id": str(id_), "object": "token", "deleted": True}
        if erase == "false":
            await self.configs.delete(id_)
            await self.memories.invalidate(id_)
            LOG.info("token %s: deleted", id_)
            return answer
        scope = await self.configs.revoke(id_)
        await self.memories.invalidate(id_)
        await self.storing.finish_exchanges(scope)  # those that come later find the token revoked
        erased = await self._erase_memory(scope)
        LOG.info("token %s: deleted, and its memory erased", id_)
        return answer | {"erased": erased}

    async def _erase_memory(self, scope: MemoryScope) -> Mapping[str, Any]:
        """Erase what the token's memory has, with the token and its configuration. May be repeated after an error."""
        checkpointer, erasure = await asyncio.to_thread(_load_modules)
        memory = self.memories.memory
        async with self._erasing, checkpointer.open_savers(self.settings, memory.conversation.redact) as savers:
            result = await erasure.erase_with_checkpoints(memory, savers, scope)
        receipt = result.receipt
        told = {"id": receipt.id, "what": receipt.what, "at": receipt.at, "counts": receipt.counts | result.checkpoints}
        shown: Mapping[str, Any] = codec.encode_value(told)
        return shown


@asynccontextmanager
async def open_administration(
    settings: Settings, memories: ConfiguredMemories, storing: StoringOrder
) -> AsyncIterator[Administration]:
    """Open the administration of the tokens whose memories these are, and whose exchanges are stored in this order.
    Raises StoreDown."""
    async with (
        bootstrap.open_token_configs(settings, as_owner=True) as configs,
        bootstrap.open_proxy_accounts(settings) as accounts,
    ):
        yield Administration(accounts=accounts, configs=configs, memories=memories, settings=settings, storing=storing)


def show_token(detail: TokenDetail, token: SecretStr | None = None) -> dict[str, Any]:
    """Return a token as JSON: its fields with masked keys, and the token itself only where it was just made."""
    grant = detail.grant
    return {
        "id": str(grant.id),
        "object": "token",
        "token": f"****{detail.hint}" if token is None else token.get_secret_value(),
        "created_at": codec.encode_value(grant.created_at),
        "revoked_at": codec.encode_value(grant.revoked_at),
        "revision": detail.revision,
        "problem": detail.problem,
        "is_switching": detail.is_switching,
        **detail.fields,
    }


async def _read_fields(request: Request) -> Mapping[str, Any]:
    """Return the fields of a body. Raises Refusal for one that is no JSON object."""
    try:
        fields = json.loads(await request.body())
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict):
        raise BadRequest("body", "is no JSON object")
    return fields


def _read_id(path: str) -> UUID:
    """Return the id at the end of a path. Raises NotFound for what is none."""
    try:
        return UUID(path.rpartition("/")[2])
    except ValueError:
        raise NotFound(_NO_TOKEN) from None


def _refuse_method(allowed: str) -> Response:
    error = {"message": f"Not by this method; by {allowed}.", "type": "invalid_request_error", "param": None}
    return JSONResponse({"error": error | {"code": "method_not_allowed"}}, 405, {"Allow": allowed})


def _load_modules() -> tuple[ModuleType, ModuleType]:
    # LangGraph takes a second to import, and only an erasure needs it.
    from muniment.graph import checkpointer, erasure  # noqa: PLC0415 - only an erasure needs the graph

    return checkpointer, erasure
