"""Who asks: the scope, the agent and the categories of a request, by its token."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from fastapi import Depends, Header, Query, Request, Security
from fastapi.security import HTTPBearer

from muniment.faces.http.service import Service, get_service
from muniment.memory.domain.ids import MemoryId
from muniment.memory.domain.memory import StoredMemory
from muniment.memory.domain.plan import Receipt
from muniment.memory.domain.scope import Grant, Permission, Scope
from muniment.memory.errors import BadInput, Denied, NotFound, NotPermitted

MAX_NAME_CHARS = 200
BEARER = HTTPBearer(auto_error=False, description="A token of `muniment token create`.")
UserHeader = Annotated[
    str | None,
    Header(alias="X-Muniment-User", description="For whom a token asks that speaks for no user by itself."),
]
UserParameter = Annotated[
    str | None, Query(min_length=1, max_length=MAX_NAME_CHARS, description="As the header X-Muniment-User.")
]
ProjectHeader = Annotated[
    str | None,
    Header(
        alias="X-Muniment-Project",
        description="The project that is worked on. Its memory is read beside the user's where it is shared.",
    ),
]
ProjectParameter = Annotated[
    str | None, Query(min_length=1, max_length=MAX_NAME_CHARS, description="As the header X-Muniment-Project.")
]
KeyHeader = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=MAX_NAME_CHARS,
        description="A name for this write. Sent again within a day with it, the request is answered as before, and "
        "writes nothing.",
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """What the token of a request permits, for the user that the request concerns, and the key of a write."""

    grant: Grant
    scope: Scope  # of the user, who is also the actor
    service: Service
    key: str | None = None

    @property
    def allowed(self) -> frozenset[str]:
        """The categories that the token may read: those of its agents, or all."""
        settings = self.service.settings
        if not self.grant.agents:
            return frozenset(settings.categories)
        return frozenset(name for agent in self.grant.agents for name in settings.allowlists.get(agent, ()))

    def make_scope(self, **names: str | None) -> Scope:
        """Return the scope of a call in a session, a thread, a project or an app. Raises BadInput for a name that
        cannot be one."""
        for what, name in names.items():
            if name is not None:
                check_name(name, what)
        names.setdefault("project", self.scope.project)
        return self.grant.make_scope(self.scope.owner, **names)

    async def write_once(
        self, write: Callable[..., Awaitable[Receipt]], *args: Any, scope: Scope | None = None, **options: Any
    ) -> Receipt:
        """Call a method of the memory that writes, in the user's scope unless another is given; where the request has a
        key, once for it. Raises KeyReused, and what the method raises."""
        place = scope or self.scope
        if self.key is None:
            return await write(place, *args, **options)
        return await self.service.memory.write_once(place, self.key, write, *args, **options)

    def number_key(self, number: int) -> Caller:
        """Return the caller for one of several writes of a request, from 0: each has a key of its own."""
        if self.key is None or number == 0:
            return self
        return replace(self, key=hashlib.sha256(f"{number} {self.key}".encode()).hexdigest())

    def choose_agent(self, named: str | None) -> str:
        """Return the agent that asks: the named one, or the only one of the token.

        Raises NotPermitted for one outside the token and for an unknown one alike, BadInput without a name."""
        agent = self.grant.choose_agent(named)
        if agent is None:
            raise BadInput("agent: is missing; name the agent that asks")
        if agent not in self.service.settings.allowlists:
            raise NotPermitted("The token is not for this agent.")
        return agent

    def check_categories(self, categories: Sequence[str]) -> None:
        """Raise Denied for a category that the token may not read, and for an unknown one alike."""
        if not self.allowed.issuperset(categories):
            raise Denied("the token is not for one of these categories")

    def check_unlimited(self) -> None:
        """Raise Denied for a token of some agents only: what is asked for has every category."""
        if self.grant.agents:
            raise Denied("the token is for some agents only, and this has every category")

    async def find_memory(self, memory_id: str) -> StoredMemory:
        """Return a memory of the user by the beginning of its id. One that the token may not read is as none.

        Raises NotFound, BadInput."""
        memory = self.service.memory
        found = await memory.get(self.scope, memory_id)
        if found.category not in self.allowed:
            raise NotFound
        return found

    async def find_id(self, memory_id: str) -> MemoryId:
        """Return the whole id of a memory that the token may read. Raises NotFound, BadInput."""
        return (await self.find_memory(memory_id)).id

    def select_changes(self, receipt: Receipt) -> Receipt:
        """Return a receipt with the changes that the token may read."""
        allowed = self.allowed
        return replace(receipt, changes=tuple(each for each in receipt.changes if each.after.category in allowed))


def require_permission(permission: Permission) -> Callable[..., Awaitable[Caller]]:
    """Return a dependency that gives the caller of a request, whose token permits this."""

    async def find_caller(
        request: Request,
        _: Annotated[object, Security(BEARER)],
        header: UserHeader = None,
        user: UserParameter = None,
        project_header: ProjectHeader = None,
        project: ProjectParameter = None,
    ) -> Caller:
        grant: Grant = request.state.grant
        grant.require_permission(permission)
        owner = choose_name("user", header, user)
        scope = grant.make_scope(owner, project=choose_name("project", project_header, project))
        return Caller(grant=grant, scope=scope, service=get_service(request))

    return find_caller


Reader = Annotated[Caller, Depends(require_permission("read"))]
Importer = Annotated[Caller, Depends(require_permission("write"))]
Eraser = Annotated[Caller, Depends(require_permission("admin"))]


async def find_writer(caller: Importer, key: KeyHeader = None) -> Caller:
    """Return the caller of a request that writes, with its key."""
    return replace(caller, key=key)


Writer = Annotated[Caller, Depends(find_writer)]


def check_name(value: str, what: str) -> str:
    """Return the name of a user, session or thread. Raises BadInput: a correction could make one name of two."""
    if not value.strip():
        raise BadInput(f"{what}: is empty; give a name")
    if len(value) > MAX_NAME_CHARS:
        raise BadInput(f"{what}: has {len(value):,} characters; at most {MAX_NAME_CHARS} are allowed")
    if any(not char.isprintable() for char in value):
        raise BadInput(f"{what}: has a character that cannot be shown; use letters, digits and spaces")
    return value


def choose_name(what: str, header: str | None, parameter: str | None) -> str | None:
    """Return the user or project that a request names. Raises BadInput for two, and for a header that is not UTF-8."""
    title = f"X-Muniment-{what.title()}"
    try:
        decoded = None if header is None else header.encode("latin-1").decode("utf-8")
    except UnicodeDecodeError:
        raise BadInput(f"{title}: is not UTF-8") from None
    named = {check_name(each, what) for each in (decoded, parameter) if each is not None}
    if len(named) > 1:
        raise BadInput(f"{what}: the header {title} and the parameter name two {what}s")
    return named.pop() if named else None
