"""Who is asking, and for which space: scopes and readers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal
from uuid import NAMESPACE_URL, uuid5

from muniment.memory.domain.ids import SpaceId
from muniment.memory.errors import BadInput

OwnerType = Literal["user", "agent", "project"]
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
SPACE_NAMESPACE = uuid5(NAMESPACE_URL, "muniment:space")


def normalize_key(text: str) -> str:
    return " ".join(text.casefold().split())


@lru_cache(maxsize=4_096)
def _derive_tenant_space(tenant: str) -> SpaceId:
    return SpaceId(uuid5(SPACE_NAMESPACE, tenant))


@lru_cache(maxsize=4_096)
def _derive_space(tenant: str, owner_type: str, owner: str) -> SpaceId:
    return SpaceId(uuid5(_derive_tenant_space(tenant), f"{owner_type}:{owner}"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Who is asking. Made by the server, never from a model's arguments."""

    owner: str
    tenant: str = "default"
    owner_type: OwnerType = "user"
    agent: str | None = None
    session: str | None = None
    thread: str | None = None
    run: str | None = None
    actor: str | None = None
    project: str | None = None

    def __post_init__(self) -> None:
        named = (self.agent, self.session, self.thread, self.run, self.actor, self.project)
        # Without `filter` for these two: who has no name is not the user "None".
        for name in (self.owner, self.tenant, *filter(None, named)):
            if _UNSTORABLE.search(name):
                raise BadInput("a name has a NUL or half a character (a lone surrogate)")

    @property
    def space(self) -> SpaceId:
        """The space of this owner: `uuid5(tenant, owner)`, computed, never looked up."""
        return _derive_space(self.tenant, self.owner_type, self.owner)

    @property
    def tenant_space(self) -> SpaceId:
        """Where the tenant's own books are kept, such as what it spends."""
        return _derive_tenant_space(self.tenant)

    @property
    def owner_scope(self) -> Scope:
        """The scope without what differs from turn to turn."""
        return _make_owner_scope(self.tenant, self.owner, self.owner_type)


@lru_cache(maxsize=4_096)
def _make_owner_scope(tenant: str, owner: str, owner_type: OwnerType) -> Scope:
    return Scope(tenant=tenant, owner=owner, owner_type=owner_type)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """A scope that reads, with the categories that its agent may see (also set for row-level security)."""

    scope: Scope
    allowed: frozenset[str]
