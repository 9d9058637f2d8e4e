"""A switch of the embedder: rows without a vector of the next model, samples, and progress."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

from muniment.memory.domain.ids import MemoryId, Revision
from muniment.memory.domain.memory import compose_document
from muniment.memory.domain.scope import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class UnembeddedRow:
    """A memory, or a former version of it, without a vector of a model; `since` is the version's revision, else 0."""

    id: MemoryId
    since: Revision
    text: str = field(repr=False)
    aliases: tuple[str, ...] = field(default=(), repr=False)

    @property
    def document(self) -> str:
        """What the vector is of."""
        return compose_document(self.text, self.aliases)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryText:
    """The id and the text of a memory, for a comparison."""

    id: MemoryId
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchComparison:
    """The memories nearest to one question under the model in use and under the next.

    `overlap` is the share in [0, 1] that both find; `only_used` and `only_next` are found by one of them."""

    scope: Scope
    number: int  # of the question, from 1
    question: str = field(repr=False)
    overlap: float
    only_used: tuple[MemoryText, ...] = ()
    only_next: tuple[MemoryText, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchRange:
    """What a switch of the embedder is of: the space of one owner, the spaces of a tenant, or the whole database."""

    space: Scope | None = None
    tenant: str | None = None

    @classmethod
    def of_space(cls, scope: Scope) -> Self:
        """Return the range of one space."""
        return cls(space=scope.owner_scope, tenant=scope.tenant)

    @property
    def is_database(self) -> bool:
        """Whether it is of the whole database."""
        return self.tenant is None


DATABASE = SwitchRange()


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchProgress:
    """The embedders of a range: the one in use, the next one of a switch under way, and the progress.

    `used` is that of the space, or of new spaces; `database` is the database's, `tenant` the one that the tenant has
    chosen. `rows` counts memories and former versions; `done` those with a vector of the next model, or of their
    space's when there is no next; `untidy` those whose column for the next model holds another vector."""

    used: str | None
    database: str | None
    tenant: str | None
    next: str | None
    rows: int
    done: int
    untidy: int
