"""The word lists that are data: how they are read, and what none of them may hold."""

from __future__ import annotations

import subprocess
import sys

import pytest

from muniment.memory.errors import BadConfig
from muniment.memory.rules.language.lexicon import list_lexicons, load_lexicon, parse_lexicon

SAMPLE = """
source: Written for this test.
words: |
  no on off yes null
  403 3:30 ~ don't
phrases: |
  gluten free

  lactose free
kin: |
  spouse: wife husband

  mother_in_law: mother-in-law
titles: |
  best_friend: best friend,
    old friend
"""


def test_sections() -> None:
    """What YAML takes for booleans, null, numbers and times are words; lines and rows keep their order."""
    sample = parse_lexicon("sample", SAMPLE.encode())
    assert sample.get_words("words") == {"no", "on", "off", "yes", "null", "403", "3:30", "~", "don't"}
    assert sample.get_phrases("phrases") == ("gluten free", "lactose free")
    assert list(sample.get_table("kin").items()) == [
        ("spouse", ("wife", "husband")),
        ("mother_in_law", ("mother-in-law",)),
    ]
    assert sample.get_index("kin") == {"wife": "spouse", "husband": "spouse", "mother-in-law": "mother_in_law"}
    assert sample.get_table("titles", ",") == {"best_friend": ("best friend", "old friend")}


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("words: |\n  a b\n", r"sample.yaml, line 1: source: is missing"),
        ("source: x\nwords: no\n", r"sample.yaml, line 2: words: must be text"),
        ("source: x\nwords: [a, b]\n", r"sample.yaml, line 2: words: must be text"),
        ("source: x\nwords: |\n", r"sample.yaml, line 2: words: must be text"),
        ("source: x\nwords: |\n  a: b\n  c\n", r"sample.yaml, line 4: words: needs rows"),
        ("source: x\nwords: |\n  a: b\n  a: c\n", r"sample.yaml, line 4: words: needs rows"),
        ("source: x\nwords: |\n  a: b\n  c: b\n", r"sample.yaml, line 2: words: has 'b' twice"),
        ("source: x\nwords: |\n  a: b b\n", r"sample.yaml, line 2: words: has 'b' twice"),
        ("source: x\nwords: |\n  : a\n", r"sample.yaml, line 3: words: needs rows"),
        ("source: x\nno: |\n  a\n", r"sample.yaml, line 2: has a key that is not text"),
        ("source: x\nwords: |\n  a\nwords: |\n  b\n", r"sample.yaml, line 4: words: comes twice"),
        ("source: [x\n", r"sample.yaml, line \d: is not YAML"),
    ],
)
def test_malformed_lexicon(content: str, complaint: str) -> None:
    """The complaint names the file, the line and the section."""
    with pytest.raises(BadConfig, match=complaint):
        parse_lexicon("sample", content.encode()).get_index("words")


def test_unknown_names() -> None:
    """A name with a typing error gets a hint, be it of a lexicon or of a section."""
    with pytest.raises(LookupError, match=r"no lexicon 'stop_word.en'; did you mean stop_words.en\?"):
        load_lexicon("stop_word.en")
    with pytest.raises(LookupError, match=r"no section 'word'; did you mean words\?"):
        load_lexicon("stop_words.en").get_words("word")


@pytest.mark.parametrize("name", list_lexicons())
def test_every_lexicon_is_well_formed(name: str) -> None:
    """Every section is a block of text, and the file ends in its language."""
    lexicon = load_lexicon(name)
    assert name.rpartition(".")[2] in ("en", "zh"), "name the file topic.language.yaml"
    assert all(lexicon.get_words(section) for section in lexicon.file.tree)


def test_start_reads_no_lexicon() -> None:
    """Neither the package nor the help of its command loads a word list."""
    code = (
        "import sys, muniment\n"
        "from muniment.faces.cli import app\n"
        "assert 'muniment.memory.rules.language.lexicon' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
