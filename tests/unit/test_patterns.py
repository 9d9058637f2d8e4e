"""Patterns that are compiled when they are first used."""

from __future__ import annotations

import copy
import gc
import pkgutil
import re
import subprocess
import sys
from importlib import import_module
from typing import Any

import pytest

from muniment.memory import rules
from muniment.memory.rules.language import lazy_regex
from muniment.memory.rules.language.lazy_regex import lazy_compile

COMPILED = """
import gc
from muniment import open_memory
from muniment.memory.rules.language import lazy_regex as patterns
kinds = (patterns._LazyPattern, patterns._CompiledPattern)
print(*(sum(type(one) is kind for one in gc.get_objects()) for kind in kinds))
"""


def test_an_import_compiles_hardly_any() -> None:
    """All of them would take as long as the rest of it. Two take apart the words of the rules themselves."""
    found = subprocess.run([sys.executable, "-c", COMPILED], capture_output=True, text=True, check=True)
    waiting, compiled = map(int, found.stdout.split())
    assert waiting > 400
    assert compiled <= 2


def test_every_one_of_them_is_a_pattern() -> None:
    """What cannot be one is not found by an import any more."""
    for module in pkgutil.walk_packages(rules.__path__, f"{rules.__name__}."):
        import_module(module.name)
    known: list[Any] = [
        one for one in gc.get_objects() if isinstance(one, (lazy_regex._LazyPattern, lazy_regex._CompiledPattern))
    ]
    assert len(known) > 400
    for one in known:
        assert one.search(" ") is None or one.search(" ").re.pattern == one.pattern


def test_it_is_what_it_stands_for() -> None:
    pattern = lazy_compile(r"(?P<word>[a-z]+)-(\d+)", re.IGNORECASE)
    real = re.compile(r"(?P<word>[a-z]+)-(\d+)", re.IGNORECASE)
    text = "AB-12, cd-3; ef"
    assert pattern.pattern == real.pattern
    assert "search" not in vars(pattern)
    found, wanted = pattern.search(text, 1), real.search(text, 1)
    assert found is not None
    assert wanted is not None
    assert (found.span(), found["word"]) == (wanted.span(), wanted["word"])
    assert pattern.match(text, 7)
    assert pattern.fullmatch(text) is None
    assert [one.span() for one in pattern.finditer(text)] == [one.span() for one in real.finditer(text)]
    assert pattern.findall(text) == real.findall(text)
    assert pattern.split(text) == real.split(text)
    assert pattern.sub("x", text, count=1) == real.sub("x", text, count=1)
    assert pattern.subn("x", text) == real.subn("x", text)
    assert (pattern.flags, pattern.groups, pattern.groupindex) == (real.flags, real.groups, real.groupindex)
    assert copy.copy(lazy_compile("a")).fullmatch("a")


def test_what_is_none_is_found_at_its_first_use() -> None:
    broken = lazy_compile("(")
    with pytest.raises(re.error):
        broken.search("x")
    with pytest.raises(re.error):
        broken.search("x")


def test_it_has_what_a_pattern_has() -> None:
    assert hasattr(lazy_compile("a"), "search")
    assert not hasattr(lazy_compile("a"), "serach")
