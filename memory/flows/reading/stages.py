"""The stages of a read, each with its time and what it counted, for a caller who asks how an answer came about."""

from __future__ import annotations

from dataclasses import asdict
from time import perf_counter

from muniment.memory.domain.ids import Revision
from muniment.memory.domain.query import Stage, StageName
from muniment.memory.domain.scope import Reader
from muniment.memory.domain.search import Search, SearchSnapshot


class StageWatch:
    """Measures the stages of one read one after the other. A stage that is repeated adds to its time."""

    def __init__(self) -> None:
        self._stages: dict[StageName, Stage] = {}
        self._since = perf_counter()

    def note_stage(self, name: StageName, **counts: int) -> None:
        """Note that a stage ends now; it began where the one before ended."""
        now = perf_counter()
        before = self._stages.get(name, Stage(name=name, milliseconds=0.0))
        spent = before.milliseconds + 1_000 * (now - self._since)
        self._stages[name] = Stage(name=name, milliseconds=spent, counts={**before.counts, **counts})
        self._since = now

    def note_search(
        self, reader: Reader, search: Search | None, snapshot: SearchSnapshot, as_of: Revision | None
    ) -> None:
        """Note that the search has been made. One statement of each space has all of its channels, so that its time is
        counted where its rows come from, and what each channel has found with that channel.

        Spaces that were not read are counted: as `withheld` those that are not shared, as `of_no_revision` those
        beside a read as of a revision, which only the own space has."""
        filters = 0 if search is None else sum(value is not None for value in asdict(search.filters).values())
        periods = 0 if search is None else len(search.periods)
        edges = sum(bool(hit.edges) for hit in snapshot.hits)
        counts = {"among": snapshot.corpus_size, "filters": filters, "periods": periods, "found": edges}
        self.note_stage("structure", **counts, candidates=len(snapshot.hits))
        unread = len(reader.beside) - len(snapshot.beside)
        reason = "withheld" if as_of is None or reader.then is not None else "of_no_revision"
        self._add_counts("access", spaces=1 + len(snapshot.beside), **{"withheld": 0, reason: unread})
        self._add_counts("meaning", found=sum("dense" in hit.ranks for hit in snapshot.hits))
        self._add_counts("words", found=sum(hit.keyword > 0 for hit in snapshot.hits))

    def list_stages(self) -> tuple[Stage, ...]:
        """Return the stages in the order in which they were first noted."""
        return tuple(self._stages.values())

    def _add_counts(self, name: StageName, **counts: int) -> None:
        if before := self._stages.get(name):
            stage = Stage(name=name, milliseconds=before.milliseconds, counts={**before.counts, **counts})
            self._stages[name] = stage
