"""Who asks LangGraph's server, and what is theirs: `auth` of `langgraph.json`.

A token says for which tenant and user a request speaks. Threads, assistants and crons carry the space of that user in
their metadata, and items of the store below it; whoever asks for another's is answered as if there were none. The
context of a run has the user of the token. In development mode a request without a token may name any user."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, NoReturn, cast
from uuid import UUID, uuid5

from langgraph.runtime import Runtime, ServerInfo
from langgraph_sdk import Auth, get_client
from langgraph_sdk.errors import NotFoundError
from pydantic import SecretStr

from muniment.memory.bootstrap import Tokens
from muniment.memory.config.settings import Settings, load_settings
from muniment.memory.domain.ids import SpaceId
from muniment.memory.domain.scope import Grant, Permission, Scope as MemoryScope
from muniment.memory.errors import BadInput, Denied, Unauthorized
from muniment.nodes.entry import resolve_scope
from muniment.nodes.state import Who

Kind = Literal["threads", "assistants"]
_OWNER = "owner"  # of the metadata of threads, assistants and crons
_AUTHOR = "created_by"  # of the metadata of assistants; the server's own are for all
_SYSTEM = "system"
_CRON = "cron"  # of the login that a cron keeps: its runs ask with no token
_HAS_CONTEXT = "__context_provided__"  # the server's mark that a request has a context of its own
_AGENT = "supervisor"  # through which every run asks
_READING = frozenset({"read", "search", "get", "list_namespaces"})
_CONTEXT_KEYS = tuple(field.name for field in fields(Who))
_GUARDED_KEYS = ("space",)  # of the state: who owns a thread is written by its nodes alone
_NO_TOKEN = (
    "Send a token, as in `Authorization: Bearer mun_…`; `muniment token create --user NAME` makes one. "  # noqa: S105 - words about tokens
    "For development on this machine the server takes MUNIMENT_DEVELOPMENT=1."
)


@dataclass
class Access:
    """The settings of this server, and its tokens while it runs."""

    settings: Settings
    tokens: Tokens | None = None


access = Access(load_settings())
auth = Auth()


@auth.authenticate
async def find_login(headers: Mapping[bytes, bytes]) -> Auth.types.MinimalUserDict:
    """The user of a request's token, with its tenant, agents and permissions; nobody in development mode without one.

    Raises 401 without a valid token, 403 for one that speaks for no user, StoreError."""
    kind, _, token = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
    if not kind and access.settings.development:
        return cast("Auth.types.MinimalUserDict", {"identity": "", "development": True})
    if kind.lower() != "bearer" or access.tokens is None:
        _refuse(401, _NO_TOKEN)
    try:
        grant = await access.tokens.require_grant(SecretStr(token.strip()))
    except Unauthorized as error:
        _refuse(401, str(error))
    if grant.owner is None:
        _refuse(403, "This token speaks for no user; `muniment token create --user NAME` makes one that does.")
    if grant.projects:
        _refuse(403, "This token is for the items of some projects, and for nothing else.")
    return cast("Auth.types.MinimalUserDict", _describe_login(grant))


def _describe_login(grant: Grant) -> dict[str, Any]:
    claims = {"tenant": grant.tenant, "agents": list(grant.agents), "permissions": list(grant.scopes)}
    return {"identity": grant.owner, "display_name": grant.owner, "token": str(grant.id), **claims}


@auth.on
async def refuse_other(ctx: Auth.types.AuthContext, value: Any) -> bool:  # noqa: ARG001 - as the server calls it
    """Refuse whatever no other handler is for."""
    return False


@auth.on(resources=["threads", "crons"], actions=["create", "read", "update", "delete", "search"])
async def filter_by_owner(ctx: Auth.types.AuthContext, value: dict[str, Any]) -> Auth.types.FilterType | None:
    """Threads and crons of the user alone; what is made or changed stays the user's."""
    scope = _authorize(ctx)
    if ctx.resource == "crons" and ctx.action in {"create", "update"}:
        _check_cron(ctx, value)
    if ctx.action == "delete" and "run_id" in value:  # the server would remove its checkpoints from whatever thread
        _refuse(501, "A run is removed with its thread.")
    if scope is None:
        return None
    _mark_owner(value, scope)
    return {_OWNER: str(scope.space)}


@auth.on.assistants
async def filter_assistants(ctx: Auth.types.AuthContext, value: dict[str, Any]) -> Auth.types.FilterType | None:
    """Assistants of the user, and to read also the server's own."""
    scope = _authorize(ctx)
    _check_context(ctx, value.get("context") or _pick_context((value.get("config") or {}).get("configurable")))
    if scope is None:
        return None
    (value.get("metadata") or {}).pop(_AUTHOR, None)
    _mark_owner(value, scope)
    own = {_OWNER: str(scope.space)}
    readable = {"$or": [own, {_AUTHOR: _SYSTEM}]}
    return cast("Auth.types.FilterType", readable if ctx.action in _READING else own)


@auth.on.store
async def place_items(ctx: Auth.types.AuthContext, value: dict[str, Any]) -> None:
    """Items of the store are below the space of the user, whether the request names it or not."""
    scope = _authorize(ctx)
    if scope is None:
        return
    space, namespace = str(scope.space), tuple(value.get("namespace") or ())
    if namespace[:1] != (space,):
        value["namespace"] = (space, *namespace)
        if value.get("max_depth") is not None:
            value["max_depth"] += 1


@auth.on.threads.create_run
async def prepare_run(ctx: Auth.types.AuthContext, value: Any) -> Auth.types.FilterType | None:
    """A run in a thread of the user, in the name of the user: what its nodes would refuse is refused here, before the
    thread changes."""
    scope, arguments = _authorize(ctx), value["kwargs"]
    _check_command(arguments.get("command"))
    given, configurable = arguments.get("context") or {}, (arguments.get("config") or {}).get("configurable") or {}
    if _CRON in ctx.user:
        await _check_cron_token(ctx, configurable.get("cron_id"))
    if _HAS_CONTEXT not in configurable:  # then it is a copy of what is configured
        given = _pick_context(given)
    speaker = _check_context(ctx, given, arguments.get("input"), is_run=True)
    if scope is None:
        await _check_thread(value.get("thread_id"), speaker)
        return None
    arguments["context"] = {**given, "user": scope.owner, "tenant": scope.tenant}
    _mark_owner(value, scope)
    return {_OWNER: str(scope.space)}


def _authorize(ctx: Auth.types.AuthContext) -> MemoryScope | None:
    """The scope of the user; None in development mode without a token. Raises 403 for what a token does not permit."""
    user = ctx.user
    if "development" in user and access.settings.development:
        return None
    if not {"tenant", "agents", "permissions"} <= set(user):
        _refuse(403, "Only a token of Muniment says for whom a request speaks.")
    needed: Permission = "read" if ctx.action in _READING else "write"
    if not {needed, "admin"} & set(user["permissions"]):
        _refuse(403, f"This token may not {needed}.")
    if ctx.action == "create_run" and user["agents"] and _AGENT not in user["agents"]:
        _refuse(403, f"This token is not for the agent {_AGENT}.")
    return MemoryScope(owner=user.identity, tenant=user["tenant"])


def _mark_owner(value: dict[str, Any], scope: MemoryScope) -> None:
    if (metadata := value.get("metadata")) is not None:
        metadata[_OWNER] = str(scope.space)


def _check_context(
    ctx: Auth.types.AuthContext, given: Mapping[str, Any], values: Any = None, *, is_run: bool = False
) -> MemoryScope | None:
    """The scope of a run with this context and input, None for a context of no run. Raises 422 for a context that is
    not valid, 403 for one that names another user."""
    unknown = sorted(given.keys() - set(_CONTEXT_KEYS))
    if unknown:
        _refuse(422, f"context: unknown key {unknown[0]!r}; allowed: {', '.join(_CONTEXT_KEYS)}")
    if isinstance(values, Mapping):  # of the graph of a consolidation, whose input may name the user
        given = {**given, **{name: values[name] for name in ("user", "tenant") if values.get(name)}}
    settings = access.settings
    runtime = Runtime(context=Who(**given), server_info=ServerInfo("", "", user=ctx.user))
    try:
        return resolve_scope(
            runtime, {"configurable": {}}, settings.tenant, settings.users.required if is_run else "never"
        )
    except BadInput as error:
        _refuse(422, str(error))
    except Denied as error:
        _refuse(403, str(error))


def _pick_context(configurable: Mapping[str, Any] | None) -> dict[str, Any]:
    """What of a configuration is the context's: the rest is for the server or for other graphs."""
    return {name: configurable[name] for name in _CONTEXT_KEYS if configurable and name in configurable}


def _check_command(command: Any) -> None:
    """Raises 403 for a command that writes what only nodes write."""
    update = command.get("update") if isinstance(command, Mapping) else None
    written = update if isinstance(update, Mapping) else [each[0] for each in update or () if isinstance(each, list)]
    if any(name in written for name in _GUARDED_KEYS):
        _refuse(403, "The owner of a thread cannot be written.")


def _check_cron(ctx: Auth.types.AuthContext, value: dict[str, Any]) -> None:
    """Check the runs that a cron will make, and keep for whom it makes them: the scheduler knows but a name."""
    payload = value.get("payload")
    if payload is None:
        return
    _check_command(payload.get("command"))
    given = payload.get("context") or {}
    speaker = _check_context(ctx, given, payload.get("input"), is_run=ctx.action == "create")
    if speaker is None or "development" in ctx.user:
        return
    payload["context"] = {**given, "user": speaker.owner, "tenant": speaker.tenant}
    config = payload.get("config") or {}
    login = {name: ctx.user[name] for name in ("identity", "display_name", "token", "tenant", "agents", "permissions")}
    login[_CRON] = True
    payload["config"] = {**config, "configurable": {**(config.get("configurable") or {}), "langgraph_auth_user": login}}


async def find_own_id(kind: Kind, id_: UUID, space: SpaceId) -> UUID:
    """The id that something of a user has, or would have, whom this request calls it by: an id of what is the user's
    own, or an assistant of the server, stays; any other is derived from the user and the id."""
    client, own = get_client(), {_OWNER: str(space)}
    if kind == "threads":
        is_own = bool(await client.threads.search(ids=[str(id_)], metadata=own, select=["thread_id"], limit=1))
    else:
        try:
            metadata = (await client.assistants.get(str(id_)))["metadata"] or {}
        except NotFoundError:
            metadata = {}
        is_own = metadata.get(_OWNER) == str(space) or metadata.get(_AUTHOR) == _SYSTEM
    return id_ if is_own else uuid5(space, f"{kind}:{id_}")


async def _check_cron_token(ctx: Auth.types.AuthContext, cron: str | None) -> None:
    """Raises 403 for a run of a cron whose token is valid no more, and removes the cron."""
    if access.tokens is None or not await access.tokens.is_valid(UUID(ctx.user["token"])):
        if cron is not None:
            await get_client().crons.delete(cron)
        _refuse(403, "The token with which this cron was made is revoked or has expired: the cron is removed.")


async def _check_thread(thread: Any, speaker: MemoryScope | None) -> None:
    """Raises 403 in development mode for a run in another user's thread, before it leaves an error there.

    The thread of a consolidation is nobody's: its input names the user."""
    if thread is None or speaker is None:
        return
    try:
        state = await get_client().threads.get_state(str(thread))
    except NotFoundError:
        return
    values: Any = state["values"] or {}
    owner = values.get("space") or (state["metadata"] or {}).get("space")
    is_consolidation = "portions" in values and "asked" not in values
    if owner and not is_consolidation and owner != str(speaker.space):
        _refuse(403, "This thread belongs to another user.")


def _refuse(status: int, detail: str) -> NoReturn:
    raise Auth.exceptions.HTTPException(status_code=status, detail=detail)
