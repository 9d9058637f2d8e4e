"""Scopes, readers and grants: whose memory is read or written, by which agent, and what a token permits."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from typing import Literal
from uuid import NAMESPACE_URL, UUID, uuid5

from muniment.memory.domain.ids import SpaceId
from muniment.memory.errors import BadInput, NotPermitted

OwnerType = Literal["user", "agent", "project"]
Permission = Literal["read", "write", "admin"]
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
GATEWAY_DEFAULT = "default"  # the app and the project of what a client of the gateway names neither for
_NAMES = ("owner", "tenant", "agent", "session", "thread", "run", "actor", "project", "app")
SPACE_NAMESPACE = uuid5(NAMESPACE_URL, "muniment:space")


def normalize_key(text: str) -> str:
    """Return a text in lower case with single spaces, as the parts of stable keys are."""
    return " ".join(text.casefold().split())


@lru_cache(maxsize=4_096)
def _derive_tenant_space(tenant: str) -> SpaceId:
    return SpaceId(uuid5(SPACE_NAMESPACE, tenant))


@lru_cache(maxsize=4_096)
def _derive_space(tenant: str, owner_type: str, owner: str) -> SpaceId:
    return SpaceId(uuid5(_derive_tenant_space(tenant), f"{owner_type}:{owner}"))


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestKey:
    """The key by which a caller may send a request again, a digest of what it asks, and the id of this call."""

    key: str
    digest: bytes
    attempt: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Whose memory a call concerns, and from where it comes. Made by the server, never from a model's arguments."""

    owner: str
    tenant: str = "default"
    owner_type: OwnerType = "user"
    agent: str | None = None
    session: str | None = None
    thread: str | None = None
    run: str | None = None
    actor: str | None = None
    project: str | None = None
    app: str | None = None
    request: RequestKey | None = field(default=None, repr=False, compare=False)  # of the write that the call makes
    space: SpaceId = field(init=False, repr=False, compare=False)  # `uuid5(tenant, owner)`: computed, never looked up
    owner_scope: Scope = field(init=False, repr=False, compare=False)  # with the tenant and the owner alone

    def __post_init__(self) -> None:
        names = (self.agent, self.session, self.thread, self.run, self.actor, self.project, self.app)
        # The owner and the tenant are not filtered: None is no name, and must fail here.
        for name in (self.owner, self.tenant, *filter(None, names)):
            if _UNSTORABLE.search(name):
                field_name = next(each for each in _NAMES if getattr(self, each) is name)
                raise BadInput(f"{field_name}: has a NUL or half a character (a lone surrogate)")
        object.__setattr__(self, "space", _derive_space(self.tenant, self.owner_type, self.owner))
        is_owner = names == (None,) * len(names) and self.request is None
        owner_scope = self if is_owner else make_owner_scope(self.tenant, self.owner, self.owner_type)
        object.__setattr__(self, "owner_scope", owner_scope)

    @property
    def tenant_space(self) -> SpaceId:
        """The space of the tenant itself, in which its spending is kept."""
        return _derive_tenant_space(self.tenant)


@lru_cache(maxsize=4_096)
def make_owner_scope(tenant: str, owner: str, owner_type: OwnerType) -> Scope:
    """Return the scope of an owner alone."""
    return Scope(tenant=tenant, owner=owner, owner_type=owner_type)


def make_gateway_scope(
    user: str,
    app: str = GATEWAY_DEFAULT,
    project: str = GATEWAY_DEFAULT,
    *,
    tenant: str = "default",
    session: str | None = None,
) -> Scope:
    """Return the scope of a user of the gateway in an app and a project, whose memory has a space of its own.

    In the app and project `default` it is the user's own memory, that of all other faces; in any other ones its owner
    is `user/app/project`. A name of a user, an app or a project has no slash, so no two owners are the same."""
    is_default = (app, project) == (GATEWAY_DEFAULT, GATEWAY_DEFAULT)
    owner = user if is_default else f"{user}/{app}/{project}"
    return Scope(tenant=tenant, owner=owner, actor=owner, session=session, app=app, project=project)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """A scope with the categories that its agent may read; row-level security has them, too.

    `beside` are the owners whose spaces are read with the own one, as far as they are shared with it."""

    scope: Scope
    allowed: frozenset[str]
    beside: tuple[Scope, ...] = ()
    at: datetime | None = None  # what expires until then is gone; None: by the clock of the database
    then: datetime | None = None  # to which a read of the past goes back in the spaces beside; None: they have none


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """Who may read the space of a project or an agent beside their own: one owner, or without one all of the tenant."""

    shared: Scope
    reader: Scope | None
    granted_by: str
    since: datetime

    @property
    def reader_space(self) -> SpaceId:
        """The space of who may read; for all of the tenant that of the tenant itself."""
        return self.shared.tenant_space if self.reader is None else self.reader.space


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """What a token permits, without the token: for whom it speaks, through which agents, and what it may do.

    Without an owner it speaks for no user by itself; without agents it may use all of them. With `projects` it opens
    nothing but the store of items, and of that what is found everywhere or in one of them."""

    id: UUID
    tenant: str
    owner: str | None
    agents: tuple[str, ...]
    scopes: tuple[Permission, ...]
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    projects: tuple[str, ...] = ()

    def permits(self, permission: Permission) -> bool:
        """Whether the token may do this; `admin` includes the others."""
        return permission in self.scopes or "admin" in self.scopes

    def is_valid(self, now: datetime) -> bool:
        """Whether the token is neither revoked nor expired."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)

    def require_permission(self, permission: Permission) -> None:
        """Raise NotPermitted unless the token may do this."""
        if not self.permits(permission):
            raise NotPermitted(f"The token does not permit this: it lacks {permission!r}.", permission=permission)

    def choose_agent(self, named: str | None = None) -> str | None:
        """Return the agent through which a request asks: the named one, or the only one of the token.

        None where the token may use all and the request names none: the face has a default. Raises NotPermitted for an
        agent that is not the token's, whether there is such an agent or not, BadInput where one of several is to be
        named."""
        if not self.agents:
            return named
        if named is None and len(self.agents) > 1:
            raise BadInput(f"agent: is missing; the token is for several: {', '.join(self.agents)}")
        agent = self.agents[0] if named is None else named
        if agent not in self.agents:
            raise NotPermitted("The token is not for this agent.")
        return agent

    def make_scope(
        self,
        owner: str | None = None,
        *,
        agent: str | None = None,
        session: str | None = None,
        thread: str | None = None,
        run: str | None = None,
        project: str | None = None,
        app: str | None = None,
    ) -> Scope:
        """Return whose memory a request concerns: the token's user, or for a token without one the named user of its
        tenant. Tenant and actor come from the token alone.

        Raises NotPermitted for another user than the token's, whether there is such a user or not, and for a token of
        some projects, BadInput where the token has no user and the request names none, and as `choose_agent` for an
        agent."""
        if self.projects:
            raise NotPermitted("The token is for the items of some projects, and for nothing else.")
        if self.owner is not None and owner not in (None, self.owner):
            raise NotPermitted("The token speaks for another user.")
        user = self.owner or owner or ""
        if not user.strip():
            raise BadInput("user: is missing; the token speaks for no user by itself, so the request names one")
        return Scope(
            tenant=self.tenant,
            owner=user,
            actor=user,
            agent=self.choose_agent(agent) if agent is not None or len(self.agents) == 1 else None,
            session=session,
            thread=thread,
            run=run,
            project=project,
            app=app,
        )

    def make_store_scope(
        self, owner: str | None = None, *, project: str | None = None, session: str | None = None
    ) -> Scope:
        """Return whose items a request concerns, and in which project and session it asks.

        Raises NotPermitted for another user or another project than the token's, whether there is one or not, and for
        a token of some agents only, since items are of every category; BadInput as `make_scope`."""
        if self.agents:
            raise NotPermitted("The token is for some agents only, and items are of every category.")
        if not self.sees_project(project):
            raise NotPermitted("The token is not for this project.")
        return replace(self, projects=()).make_scope(owner, project=project, session=session)

    def sees_project(self, project: str | None) -> bool:
        """Whether the token may read and write what belongs to a project; None is what belongs to none."""
        return not self.projects or project is None or project in self.projects
