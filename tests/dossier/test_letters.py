"""Which letters a PDF draws: with the fonts of every reader, and with one that is given."""

import io
import re
import shutil
import subprocess
from pathlib import Path

import pypdf
import pytest

from muniment.faces.dossier.blocks import Block, Entry, Heading, Paragraph, Title
from muniment.faces.dossier.letters import LetterFaults
from muniment.faces.dossier.pdf import write_pdf
from muniment.faces.dossier.words import load_words
from muniment.memory.errors import BadInput

FOLDER = Path("/usr/share/fonts/truetype")
FONTS = [FOLDER / "dejavu/DejaVuSans.ttf", FOLDER / "noto/NotoSans-Regular.ttf"]
POLISH, GREEK, CYRILLIC = "Zażółć gęślą jaźń", "Καλημέρα, τι ώρα είναι;", "Съешь ещё этих булок"
CHINESE, ARABIC, KOREAN = "用户住在上海，喜欢徒步。", "مرحبا", "서울"


def find_font() -> Path:
    """A font of Debian with Polish, Greek and Cyrillic letters."""
    found = next((each for each in FONTS if each.exists()), None)
    if found is None:
        pytest.skip("neither fonts-dejavu nor fonts-noto is installed")
    return found


def write(*statements: str, font: Path | None = None) -> tuple[str, LetterFaults, bytes]:
    """The text of a PDF with these statements, the letters that are not seen as they should be, and the file."""
    blocks: list[Block] = [Title("Everything known", "of one moment"), Heading("What is known", "memory")]
    blocks += [Entry(each, (("Known since", each),), ((each, each),)) for each in statements]
    file = io.BytesIO()
    faults = write_pdf([*blocks, Paragraph("End")], load_words("en"), "ana", file, font)
    pages = pypdf.PdfReader(io.BytesIO(file.getvalue())).pages
    return "\n".join(page.extract_text() for page in pages), faults, file.getvalue()


def test_a_given_font_draws_what_the_others_lack() -> None:
    """Polish, Greek and Cyrillic are drawn and can be selected; Chinese, which the font lacks, still is, too."""
    text, faults, content = write(POLISH, GREEK, CYRILLIC, CHINESE, font=find_font())
    assert faults == LetterFaults()
    for expected in (POLISH, GREEK, CYRILLIC, CHINESE):
        assert expected in text
    assert "do not draw" not in " ".join(text.split())
    fonts = re.findall(rb"/BaseFont /([\w+-]+)", content)
    assert any(b"Sans" in name for name in fonts)
    assert any(b"STSong" in name for name in fonts)
    assert len(content) < 400_000  # of the font only the letters that are used


def test_letters_that_cannot_be_drawn_are_named_and_kept() -> None:
    """Which letters, of which script; the PDF itself says it, and they are in its text all the same."""
    text, faults, _ = write(POLISH, KOREAN, CHINESE)
    assert {"ż", "ł", "ś", "서", "울"} <= set(faults.missing)
    assert not set(CHINESE) & set(faults.missing)
    assert faults.list_scripts() == ["HANGUL", "LATIN"]
    assert POLISH in text
    assert "do not draw" in " ".join(text.split())
    assert write(CHINESE, "Plain words, and “typographic” ones – é, ü.")[1] == LetterFaults()


def test_scripts_that_join_their_letters_are_told_apart() -> None:
    """Arabic is not joined: a font that has its letters does not make it right, and a clear word says so."""
    _, faults, _ = write(ARABIC, font=find_font())
    assert not faults.missing
    assert set(faults.unjoined) == set(ARABIC)
    assert faults.list_scripts() == ["ARABIC"]


def test_a_file_that_is_no_font_is_refused(tmp_path: Path) -> None:
    (tmp_path / "no.ttf").write_text("no font")
    for name in ("no.ttf", "missing.ttf"):
        with pytest.raises(BadInput, match="TrueType"):
            write(POLISH, font=tmp_path / name)


def test_another_reader_selects_chinese(tmp_path: Path) -> None:
    """PDF with selectable Chinese, as poppler reads it."""
    if shutil.which("pdftotext") is None:
        pytest.skip("poppler-utils is not installed")
    for font in (None, find_font()):
        file = tmp_path / "ana.pdf"
        file.write_bytes(write(CHINESE, POLISH, font=font)[2])
        read = subprocess.run(["pdftotext", str(file), "-"], capture_output=True, text=True, check=True)
        assert CHINESE in read.stdout
        assert font is None or POLISH in read.stdout
