"""What a read asks for beside the hits, and everything that its answer comes from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from muniment.memory.domain.query import Answer
from muniment.memory.domain.search import Search, SearchSnapshot
from muniment.memory.rules.retrieval.rank import RankingContext
from muniment.memory.rules.retrieval.render import TokenBudget


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieval:
    """A read request with everything that its answer comes from."""

    search: Search | None
    snapshot: SearchSnapshot
    ranking: RankingContext
    token_budget: TokenBudget
    answer: Answer
    header: str = ""  # of a brief: what changed


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadView:
    """What a brief reads beside the hits: the stable categories, and what changed since `horizon` for this thread."""

    stable: Sequence[str] = ()
    stable_limit: int = 100
    thread: str | None = None
    horizon: datetime | None = None
