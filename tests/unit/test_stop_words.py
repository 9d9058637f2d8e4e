"""Which language a question is in, and the words of it that tell nothing."""

import subprocess
import sys

import pytest

from muniment.memory.rules.language.stop_words import detect_language, load_stop_stems
from muniment.memory.rules.retrieval.question import find_proper_nouns, parse_question


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Wo arbeitet meine Schwester?", "de"),
        ("Où est-ce que ma sœur travaille ?", "fr"),
        ("¿Dónde trabaja mi hermana?", "es"),
        ("Onde é que a minha irmã trabalha?", "pt"),
        ("Dove lavora mia sorella?", "it"),
        ("Waar werkt mijn zus?", "nl"),
        ("Where does my sister work?", None),
        ("postgres version?", None),
        ("Rashid met Mrs Hale", None),
        ("Ana sold Ana's car", None),
        ("rate limit partner api", None),
        ("我妹妹在哪里工作？", None),
        ("", None),
    ],
)
def test_the_language_of_a_question(text: str, language: str | None) -> None:
    """By its function words; English and what is too short to say are None."""
    assert detect_language(text) == language


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("Wann hat der Zahnarzt von Lena einen Termin?", {"zahnarzt", "lena", "termin"}),
        ("Quelle est la couleur de mon vélo ?", {"couleur", "velo"}),
        ("When did Lena die in the war?", {"lena", "die", "war"}),
        ("de la", {"de", "la"}),
    ],
)
def test_function_words_are_no_terms(text: str, terms: set[str]) -> None:
    """Of the question's language only; a question of nothing else keeps them."""
    assert set(parse_question(text).terms) == terms


def test_german_capitals_prove_no_name() -> None:
    """Every noun has one."""
    assert not find_proper_nouns("Wann ist der Termin beim Zahnarzt in der Stadt?")
    assert find_proper_nouns("What does Lena think of Sofia?") == {"lena", "sofia"}


def test_an_english_question_loads_no_lists() -> None:
    """They are read for the first text without an English function word."""
    code = (
        "import sys\n"
        "from muniment.memory.rules.retrieval.question import parse_question\n"
        "parse_question('Where does my sister work?')\n"
        "assert 'stopwordsiso' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "der" in load_stop_stems("de")
