"""The texts of the console in each language."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from muniment.faces.wording.texts import LANGUAGES, Texts, load_common, read_catalogue

__all__ = ["DEFAULT_LANGUAGE", "LANGUAGES", "Texts", "choose_language", "load_texts"]

DEFAULT_LANGUAGE = "en"


def choose_language(preferred: str | None, accepted: str) -> str:
    """Return the language for a browser: the preferred one, the first of the header Accept-Language that there is, or
    English."""
    if preferred is not None and preferred in LANGUAGES:
        return preferred
    for part in accepted.split(",")[:20]:
        code = part.partition(";")[0].strip().lower().partition("-")[0]
        if code in LANGUAGES:
            return code
    return DEFAULT_LANGUAGE


@cache
def load_texts(language: str) -> Texts:
    """Return the catalogue of a language that is one of `LANGUAGES`."""
    own = read_catalogue(files(__package__) / "texts" / language)
    return Texts(language, load_common(language) | own)
