"""The port of resources: what a space has of each document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from muniment.memory.domain.layers.resources import KnownStatement, Resource
from muniment.memory.domain.scope import Scope


class ResourceStore(Protocol):
    """The resources of a space: memories of trust `document` by their source."""

    async def list_resources(self, scope: Scope) -> Sequence[Resource]:
        """Return the resources of the space that have a statement, in the order of their URIs."""
        ...

    async def list_statements(self, scope: Scope, uri: str) -> Sequence[KnownStatement]:
        """Return all statements of a resource, whatever their state, the oldest first."""
        ...
