"""The data files of this package: formats of tokens, and what a password is called."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from muniment.memory.rules.language.lexicon import Lexicon, parse_lexicon


@cache
def load_secret_data(name: str) -> Lexicon:
    """Return the sections of `name`.yaml. Raises BadConfig where the file is malformed."""
    return parse_lexicon(name, (files(__package__) / f"{name}.yaml").read_bytes())
