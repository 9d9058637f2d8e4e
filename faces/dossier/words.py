"""The words of a dossier, in the languages of the console."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from muniment.faces.console.texts import Texts, load_texts, read_catalogue


@cache
def load_words(language: str) -> Texts:
    """Return the texts of a dossier in one of the `LANGUAGES`, with the words of the console for what both name."""
    own = read_catalogue(files(__package__) / "texts" / language)
    return Texts(language, load_texts(language).catalogue | own)
