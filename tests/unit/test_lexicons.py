"""The word lists that are data: how they are read, and what none of them may hold."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

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


DATA = Path(__file__).parents[2] / "benchmarks/data"
TRAINING = "statements.tsv"  # no figure is taken of the text that the classifier learns from
# Names of the benchmarks' data that a general word list may have. A new one needs a better reason than that it scores.
GENERAL_NAMES = {
    "peoples and languages": """
        african american arabic austrian brazilian british canadian catalan chinese czech danish finnish french
        german ghanaian greek hindi hindu hungarian icelandic indian iranian irish italian japanese kenyan korean
        latin latvian lebanese lithuanian mexican moroccan persian peruvian polish portuguese serbian slovak spanish
        swahili swiss tunisian turkish vietnamese welsh
    """,
    "months, days and holidays": """
        january february march june july august september october november december monday tuesday thursday saturday
        saturdays sundays easter ramadan
    """,
    "countries, regions and large cities": """
        aarhus africa algarve angeles asia basel bergen berlin bern bilbao bologna boston brazil bristol brittany
        canada cardiff corfu crete denmark dublin egypt faro florence france frankfurt friesland gdansk ghana
        glasgow granada graz hamburg hanoi hawaii helsinki hokkaido ireland istanbul italy izmir japan kenya kyoto
        lausanne leeds leipzig london lyon madeira madrid mallorca manchester melbourne milan montreal munich nantes
        naples nigeria normandy norway oslo palermo paris pisa porto portugal quebec rome sardinia scotland seville
        singapore stockholm tanzania tokyo toronto turin uppsala utrecht valencia verona vienna vietnam wales
        warsaw washington york zealand zurich
    """,
    "brands, programs, clubs and works that are known everywhere": """
        python adidas android asics azure canon debian emacs fedora fiat ford fujifilm galaxy google honda java
        kotlin leica mazda mercedes minecraft monde nikon notion octavia oracle photoshop pixel redis renault ruby
        skoda sony spotify swift toyota ubuntu vespa volvo zelda guardian ajax arsenal chelsea radiohead mozart
        schubert
    """,
    "ordinary words that the data writes with a capital only": """
        alma auntie bean brand capture depression direct earth elementary grandad granny gray lily mason mode monk
        moonlights mount muslim nordic parkinson pilates politics professor saint save seed sergeant southern split
        star stone united villa
    """,
}


def find_benchmark_names(words: set[str]) -> set[str]:
    """The words that the data writes with a capital inside a sentence and never without, except general names."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in sorted(DATA.iterdir()) if path.name != TRAINING)
    capitals = {name.lower() for name in re.findall(r"(?<=[a-z,] )([A-Z][a-z]{3,})\b", text)}
    general = {name for names in GENERAL_NAMES.values() for name in names.split()}
    return (words & capitals) - set(re.findall(r"\b[a-z]{4,}\b", text)) - general


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


@pytest.mark.parametrize("name", list_lexicons())
def test_no_lexicon_knows_the_benchmarks(name: str) -> None:
    """A list that holds a name of the data measures itself and not what users ask."""
    lexicon = load_lexicon(name)
    text = " ".join(lexicon.get_text(section) for section in lexicon.file.tree if section != "source")
    assert not find_benchmark_names(set(re.findall(r"[a-z]{4,}", text.lower().replace("_", " "))))


def test_benchmark_names_are_found() -> None:
    """Names of firms, places and things in the data are no general names."""
    names = {"northzone", "fendt", "kumasi", "fairphone"}
    assert find_benchmark_names(names | {"london", "kitchen"}) == names


def test_start_reads_no_lexicon() -> None:
    """Neither the package nor the help of its command loads a word list."""
    code = (
        "import sys, muniment\n"
        "from muniment.faces.cli import app\n"
        "assert 'muniment.memory.rules.language.lexicon' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
