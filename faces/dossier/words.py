"""The words of a dossier, in each language."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from muniment.faces.wording.texts import Texts, load_common, read_catalogue


@cache
def load_words(language: str) -> Texts:
    """Return the texts of a dossier in one of the `LANGUAGES`."""
    return Texts(language, load_common(language) | read_catalogue(files(__package__) / "texts" / language))
