"""New vectors for changes that change what a vector is of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from muniment.memory.domain.memory import compose_document
from muniment.memory.domain.plan import Change
from muniment.memory.flows.writing.plan import VectorCache


def complete_vectors(changes: Sequence[Change], vectors: VectorCache) -> tuple[Change, ...]:
    """Return the changes with a new vector where one changes what the vector is of, and has none."""
    completed = []
    for each in changes:
        before, after = each.before, each.after
        document = compose_document(after.text, after.aliases)
        if each.vector is None and before is not None and document != compose_document(before.text, before.aliases):
            [vector] = vectors.get_vectors([document])
            completed.append(replace(each, vector=vector))
        else:
            completed.append(each)
    return tuple(completed)
