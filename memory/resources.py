"""`Resources`: documents that are taken in, each by its URI."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from muniment.memory.codec import check_calls
from muniment.memory.domain.layers.resources import Resource, ResourceReport, Statement
from muniment.memory.domain.scope import Scope
from muniment.memory.engine import Engine

OnProgress = Callable[[int], None]


@check_calls
class Resources:
    """The resources of a space. It shares the engine of `Memory`."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    async def keep(
        self,
        scope: Scope,
        uri: str,
        statements: Sequence[Statement],
        *,
        path: str | None = None,
        on_progress: OnProgress | None = None,
    ) -> ResourceReport:
        """Let a resource have these statements, in one transaction: what it has stays, what it has besides is
        forgotten, and the same again changes nothing. `bootstrap.open_documents` reads statements from a file.

        What instructs waits for a person; what a person had forgotten or rejected does not come back. A `path` that the
        denylist names is skipped. `on_progress` gets numbers of statements. Raises BadInput, TooLarge, ModelError,
        StoreError."""
        given = tuple(statements)
        return await self.engine.run_checked(
            scope, lambda engine: engine.resource_keeper.keep_resource(scope, uri, given, path, on_progress)
        )

    async def remove(self, scope: Scope, uri: str) -> ResourceReport:
        """Forget all statements of a resource. Raises NotFound, BadInput, StoreError."""
        return await self.engine.run_checked(scope, lambda engine: engine.resource_keeper.remove_resource(scope, uri))

    async def list(self, scope: Scope) -> Sequence[Resource]:
        """Return the resources of a space in the order of their URIs. Raises StoreError."""
        return await self.engine.resource_keeper.list_resources(scope)
