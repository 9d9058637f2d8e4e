"""The vectors that a write needs: they are made while nothing is locked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import compress

from muniment.memory.domain.ids import Vector
from muniment.memory.domain.memory import StoredMemory, compose_document
from muniment.memory.domain.plan import Change
from muniment.memory.domain.turn import Candidate


class UnembeddedTexts(Exception):
    """A plan needs the vectors of texts that are not embedded yet."""

    def __init__(self, texts: Sequence[str]) -> None:
        super().__init__()
        self.texts = texts


class VectorCache(dict[str, Vector]):
    """The vectors of the texts of one write. For one that is missing the plan is made again after the text is embedded:
    no writer waits for an embedder while it holds the lock of the space."""

    def get_vectors(self, texts: Sequence[str]) -> list[Vector]:
        """Return the vectors of these texts. A missing one ends the plan."""
        if missing := [text for text in dict.fromkeys(texts) if text not in self]:
            raise UnembeddedTexts(missing)
        return [self[text] for text in texts]


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


def embed_changes(
    changes: Sequence[Change], known: Sequence[Candidate | StoredMemory], vectors: VectorCache
) -> tuple[Change, ...]:
    """Return the changes with new vectors for what merging has made: what is no document of those that are `known`."""
    embedded = {compose_document(each.text, each.aliases) for each in known}
    documents = [compose_document(each.after.text, each.after.aliases) for each in changes]
    is_new = [
        each.vector is not None and document not in embedded for each, document in zip(changes, documents, strict=True)
    ]
    if not any(is_new):
        return tuple(changes)
    new = list(compress(documents, is_new))
    by_document = dict(zip(new, vectors.get_vectors(new), strict=True))
    return tuple(
        replace(each, vector=by_document[document]) if is_due else each
        for each, document, is_due in zip(changes, documents, is_new, strict=True)
    )
