"""The words of the console: the same keys in every language, each used, and none in a template: S-79."""

import ast
import re
from collections.abc import Iterator
from importlib.resources import files
from string import Formatter

import pytest

from muniment.faces import console, wording
from muniment.faces.console.texts import LANGUAGES, choose_language, load_texts

TEMPLATES = {
    each.name: each.read_text(encoding="utf-8")
    for each in (files(console) / "templates").iterdir()
    if each.name.endswith(".html")
}
# Groups whose keys are made of a value: `base.state.active`.
KEY = re.compile(r"[a-z_]+(?:\.[a-z_0-9]+)+")
ATTRIBUTES = re.compile(r'\b(?:aria-label|title|alt|placeholder|data-label)="([^"]*)"')
# What is the same in each language: names, commands, and signs.
SAME = {"Muniment", "muniment token create --user NAME --days 90\nmuniment console", "SHA-256"}


def list_sources() -> Iterator[str]:
    yield from TEMPLATES.values()
    folders = [files(console), files(console) / "pages", files(wording)]
    for folder in folders:
        for each in folder.iterdir():
            if each.name.endswith(".py"):
                tree = ast.parse(each.read_text(encoding="utf-8"))
                yield " ".join(
                    node.value
                    for node in ast.walk(tree)
                    if isinstance(node, ast.Constant) and isinstance(node.value, str)
                )


def list_values(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name is not None}


@pytest.mark.parametrize("language", sorted(set(LANGUAGES) - {"en"}))
def test_every_language_has_the_same_keys_and_values(language: str) -> None:
    english, other = load_texts("en").catalogue, load_texts(language).catalogue
    assert english.keys() == other.keys()
    assert {key: list_values(text) for key, text in english.items()} == {
        key: list_values(text) for key, text in other.items()
    }
    assert [key for key, text in other.items() if not text.strip()] == []


def test_every_key_is_used() -> None:
    """A key is used by its name, by that of its group where a value is put behind, or as a form of a number."""
    used = {found for source in list_sources() for found in re.findall(r"[a-z_]+(?:\.[a-z_0-9]+)*\.?", source)}

    def is_used(key: str) -> bool:
        parts = key.split(".")
        heads = {".".join(parts[:size]) for size in range(2, len(parts) + 1)}
        return bool(heads & used) or any(f"{head}." in used for head in heads)

    assert [key for key in load_texts("en").catalogue if not is_used(key)] == []


@pytest.mark.parametrize("name", sorted(TEMPLATES))
def test_every_text_of_a_template_is_in_the_catalogue(name: str) -> None:
    catalogue = load_texts("en").catalogue
    named = re.findall(r'\bt(?:\.format_count)?\(\s*["\']([^"\']+)["\']\s*[,)]', TEMPLATES[name])
    assert [key for key in named if key not in catalogue and f"{key}.other" not in catalogue] == []


@pytest.mark.parametrize("name", sorted(TEMPLATES))
def test_no_template_has_words_of_its_own(name: str) -> None:
    bare = re.sub(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}", "\0", TEMPLATES[name], flags=re.DOTALL)
    attributes = [found for found in ATTRIBUTES.findall(bare) if re.search(r"[^\W\d_]", found.replace("\0", ""))]
    texts = [text.strip(" \n\0·") for text in re.split(r"<[^>]*>", bare)]
    worded = [text for text in texts if re.search(r"[^\W\d_]", text) and text not in SAME]
    assert [*attributes, *worded] == []


@pytest.mark.parametrize("name", sorted(TEMPLATES))
def test_no_template_escapes_the_policy_or_the_catalogue(name: str) -> None:
    """No inline script or style, no text unescaped, no address that loses the chosen user: P-104."""
    text = TEMPLATES[name]
    assert re.findall(r"\|\s*safe|<style|\sstyle=|\son[a-z]+=|<script(?![^>]*\ssrc=)|autoescape false", text) == []
    hard = re.findall(r'(?:href|action)="(/[^"{]*)"', text)
    assert set(hard) <= {"/", "/console/login", "/console/users"}


@pytest.mark.parametrize(
    ("preferred", "accepted", "chosen"),
    [
        (None, "", "en"),
        (None, "zh-CN,zh;q=0.9,en;q=0.8", "zh"),
        (None, "fr, de;q=0.5", "en"),
        ("zh", "en", "zh"),
        ("xx", "zh", "zh"),
        (None, "," * 10_000, "en"),
    ],
)
def test_the_language_is_the_chosen_one_or_the_browsers(preferred: str | None, accepted: str, chosen: str) -> None:
    assert choose_language(preferred, accepted) == chosen


def test_numbers_and_times_are_written_as_in_the_language() -> None:
    from datetime import UTC, datetime

    english, chinese = load_texts("en"), load_texts("zh")
    moment = datetime(2026, 3, 9, 7, 5, tzinfo=UTC)
    assert english.format_time(moment) == "9 March 2026, 07:05 UTC"
    assert chinese.format_time(moment) == "2026年3月9日 07:05（UTC）"
    assert english.format_number(1_234_567) == "1,234,567"
    assert english.format_percent(0.256, 1) == "25.6 %"
    assert english.format_size(1_536_000) == "1.5 MB"
    assert english.format_money(123_456, "USD") == "0.1235 USD"
    assert english.format_count("users.found", 1) == "1 user with a memory"
    assert english.name_value("base.state", "own-word") == "own-word"
