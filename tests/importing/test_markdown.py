"""Notes in Markdown: words of each script are counted, and a note of any length is read in pieces."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from muniment.faces.importing import markdown_blocks, markdown_notes
from muniment.faces.importing.markdown_blocks import MarkdownBlock, list_blocks
from muniment.memory.bootstrap import count_words, read_markdown
from muniment.memory.domain.layers.imports import ImportedMemory, OmittedRecord
from muniment.memory.errors import BadInput, TooLarge
from tests.importing.formats import read_all

CHINESE = """# 用户偏好

## 饮食

- 喜欢吃辣，也常常自己做饭
- 川菜

用户住在上海，在一家软件公司工作。
"""
PARTS = (
    "# Heading\n", "## 标题\n", "\n", "A paragraph\nof two lines\n", "- item\n", "* another\n", "  - below it\n",
    "- \n", "**In bold**\n", "![[a.png]]\n",
    "1. first\n", "2. second\n", "    indented\n", "```python\n# no heading\n\n- no item\n```\n", "~~~\n", "```\n",
    "<!-- a comment\n\n# in it\n-->\n", "<pre>\n\n- in it\n</pre>\n",
    "| a | b |\n| - | - |\n| c | d |\n", "> quoted\n",
    "---\n", "***\n", "Title\n=====\n", "[[Note|words]] and [[Other]]\n", "- 喜欢\n\n  more of it\n",
)  # fmt: skip


def read_blocks(text: str) -> list[MarkdownBlock]:
    return list(list_blocks(io.StringIO(text)))


def test_words_of_chinese_are_counted() -> None:
    """A heading stands before a word alone; a Chinese sentence, which has no blanks, says something by itself."""
    assert [one.text for one in read_blocks(CHINESE)] == [
        "喜欢吃辣，也常常自己做饭",
        "饮食: 川菜",
        "用户住在上海，在一家软件公司工作。",
    ]
    assert [count_words(text) for text in ("川菜", "用户住在上海", "Likes tea", "喜欢 tea", "")] == [1, 5, 2, 2, 0]


@settings(max_examples=200, deadline=None)
@given(parts=st.lists(st.sampled_from(PARTS), max_size=30))
def test_pieces_say_what_the_whole_says(parts: list[str]) -> None:
    """A note that is read in pieces has the same blocks as the whole note."""
    text = "# Begin\n" + "".join(parts)
    whole = read_blocks(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(markdown_blocks, "_PIECE_CHARS", 1)
        assert read_blocks(text) == whole


def test_a_long_note_is_read_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """No piece is much longer than what is read at once, however long the note is."""
    sizes: list[int] = []

    def measure(text: str) -> object:
        sizes.append(len(text))
        return read_markdown(text)

    monkeypatch.setattr(markdown_blocks, "read_markdown", measure)
    lines = (f"- an item with the number {number}\n" for number in range(20_000))
    assert sum(1 for _ in list_blocks(lines)) == 20_000
    assert max(sizes) < 70_000


def test_front_matter_is_that_of_the_first_lines(tmp_path: Path) -> None:
    """A front matter without an end is text, and so are two lines of dashes around a paragraph."""
    file = tmp_path / "note.md"
    for text, tags, said in (
        ("---\r\ntags: [a]\r\n---\r\nSaid here\r\n", ("a",), ["Said here"]),
        ("---\nA paragraph of words\n---\nAnd more of it\n", (), ["A paragraph of words", "And more of it"]),
        ("---\nBegins and does not end\n", (), ["Begins and does not end"]),
        ("\ufeffWith a mark of its encoding\n", (), ["With a mark of its encoding"]),
    ):
        file.write_text(text, encoding="utf-8", newline="")
        found = [one for one in read_all(file) if isinstance(one, ImportedMemory)]
        assert found[0].tags == tags
        assert [one.text.partition(": ")[2] or one.text for one in found][-1] == said[-1]
    file.write_bytes(b"\xff\xfe no text")
    with pytest.raises(BadInput, match="UTF-8"):
        read_all(file)


def test_a_line_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line is in memory whole, and so it is bounded."""
    monkeypatch.setattr(markdown_notes, "_MAX_LINE", 100)
    file = tmp_path / "note.md"
    file.write_text("words " * 50)
    with pytest.raises(TooLarge, match="more than 100 characters"):
        read_all(file)


def test_what_is_listed_by_days(tmp_path: Path) -> None:
    """The same words on two days are two records, and a note that grows keeps those that it had."""
    file = tmp_path / "MEMORY.md"
    file.write_text("# Log\n\n- [2025-03-01] - Went for a run\n- [2025-03-02] - Went for a run\n")
    first = [one for one in read_all(file) if isinstance(one, ImportedMemory)]
    assert len({(one.key, one.text) for one in first}) == 2
    file.write_text(file.read_text() + "- Reads much in the evening\n")
    assert [(one.key, one.text) for one in read_all(file) if isinstance(one, ImportedMemory)][:2] == [
        (one.key, one.text) for one in first
    ]


def test_a_line_in_bold_is_a_heading() -> None:
    """A title in bold stands above what follows it, as in the memories of an assistant, and is none of them."""
    text = "**Work context**\n\nAna is a nurse in Bergen.\n\n**Tastes:**\n- Tea\n\nThis is\n**quite**\ntrue of her.\n"
    assert [(one.text, one.headings) for one in read_blocks(text)] == [
        ("Ana is a nurse in Bergen.", "Work context"),
        ("Tastes: Tea", "Tastes"),
        ("This is quite true of her.", "Tastes"),
    ]


def test_notes_of_a_day_and_pictures(tmp_path: Path) -> None:
    """A note of a day has that day; a picture that a note shows says nothing, and a note that it shows is its name."""
    file = tmp_path / "2024-05-01.md"
    file.write_text("# Day\n\n- Bought a new tent\n\n![[photo.png]]\n\n![[Ben]] and [[a.pdf|the plan]]\n")
    found = read_all(file)
    assert [(one.text, f"{one.at:%Y-%m-%d}") for one in found if isinstance(one, ImportedMemory)] == [
        ("Bought a new tent", "2024-05-01"),
        ("Ben and the plan", "2024-05-01"),
    ]
    assert [one.reason for one in found if isinstance(one, OmittedRecord)] == ["has no words"]
