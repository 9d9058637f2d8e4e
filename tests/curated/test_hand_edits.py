"""Files that somebody edits by hand: their line ends, marks, encodings, modes and links stay, and no save is lost."""

import os
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from hypothesis import given, strategies as st

from muniment.agent.curated.calls import CuratedCall
from muniment.agent.curated.entries import append_entry, find_entries, is_separator, remove_entries, replace_entry
from muniment.agent.curated.files import CuratedFiles
from muniment.agent.curated.storage import StoredFile
from muniment.memory.errors import BadInput, Busy, CuratedFileError, FileChanged

ADD = CuratedCall(target="memory", action="add", content="one\ntwo")


async def write(folder: Path, before: bytes, **call: Any) -> bytes:
    (folder / "MEMORY.md").write_bytes(before)
    await CuratedFiles(folder).apply(CuratedCall(target="memory", **call))
    return (folder / "MEMORY.md").read_bytes()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"", b"one\ntwo\n"),
        (b"tea", "tea\n§\none\ntwo".encode()),
        (b"tea\n", "tea\n§\none\ntwo\n".encode()),
        (b"tea\r\n", "tea\r\n§\r\none\r\ntwo\r\n".encode()),
        (b"tea\r", "tea\r§\rone\rtwo\r".encode()),
        ("tea\r\n§\r\ncoffee".encode(), "tea\r\n§\r\ncoffee\r\n§\r\none\r\ntwo".encode()),
        ("\n\n  tea  \n\n §\t\n\n".encode(), "\n\n  tea  \n\n §\t\n\none\ntwo\n".encode()),
        ("tea\n§".encode(), "tea\n§\none\ntwo".encode()),
        (b"\xef\xbb\xbftea\n", b"\xef\xbb\xbf" + "tea\n§\none\ntwo\n".encode()),
        ("\ufefftea\r\n".encode("utf-16-le"), "\ufefftea\r\n§\r\none\r\ntwo\r\n".encode("utf-16-le")),
        ("\ufefftea\n".encode("utf-16-be"), "\ufefftea\n§\none\ntwo\n".encode("utf-16-be")),
    ],
)
async def test_added(tmp_path: Path, before: bytes, after: bytes) -> None:
    """An entry is added in the line ends and the encoding of the file, and all that was there stays to the byte."""
    assert await write(tmp_path, before, action="add", content="one\r\ntwo\n") == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("tea\r\n§\r\n  green\r\n tea  \r\n\r\n§\r\nmilk", "tea\r\n§\r\n  one\r\ntwo  \r\n\r\n§\r\nmilk"),
        ("green", "one\ntwo"),
    ],
)
async def test_replaced(tmp_path: Path, before: str, after: str) -> None:
    """An entry is replaced in its place, with the blanks around it."""
    assert (
        await write(tmp_path, before.encode(), action="replace", old_text="green", content="one\ntwo") == after.encode()
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("green", ""),
        ("green\n", ""),
        ("tea\n§\ngreen", "tea"),
        ("tea\r\n§\r\ngreen\r\n", "tea\r\n"),
        ("green\n§\n\ntea\n", "\ntea\n"),
        ("tea\n §\ngreen\n§ \nmilk", "tea\n§ \nmilk"),
        ("tea\n§\ngreen\n§\n", "tea\n§\n"),
        ("green\n§\ntea\n§\ngreen\n§\ngreen\n", "tea\n"),
    ],
)
async def test_removed(tmp_path: Path, before: str, after: str) -> None:
    """An entry leaves with one separator, its copies with it, and the end of the last line stays as it was."""
    assert await write(tmp_path, before.encode(), action="remove", old_text="green") == after.encode()


async def test_unknown_encoding(tmp_path: Path) -> None:
    """A file in another encoding is shown as well as it can be and takes no change, which says the way out."""
    before = "Grüße aus Köln".encode("latin-1")
    with pytest.raises(BadInput, match=r"^MEMORY.md: is no valid UTF-8 at byte 2, .*iconv"):
        await write(tmp_path, before, action="add", content="tea")
    assert (tmp_path / "MEMORY.md").read_bytes() == before
    snapshot = await CuratedFiles(tmp_path).take_snapshot()
    assert "Gr\ufffd\ufffde aus K\ufffdln" in snapshot.prompt
    assert "no valid UTF-8" in snapshot.memory.problem


TEXTS = st.text(alphabet=st.sampled_from("ab§ \t\n\r\u2028é🙂"), max_size=40)
CONTENTS = (
    st.text(alphabet=st.sampled_from("xy§ \n🙂"), min_size=1, max_size=12)
    .map(str.strip)
    .filter(lambda text: text and not any(map(is_separator, text.split("\n"))))
)


def list_texts(text: str) -> list[str]:
    return [entry.text for entry in find_entries(text)]


@given(TEXTS, CONTENTS, st.data())
def test_any_text(text: str, content: str, data: st.DataObject) -> None:
    """Whatever a file has, a change changes the one entry that it means, and all others stay as they are."""
    entries = find_entries(text)
    texts = list_texts(text)
    assert list_texts(append_entry(text, content)) == [*texts, content]
    assert append_entry(text, content).startswith(text)
    if entries:
        place = data.draw(st.integers(0, len(entries) - 1))
        replaced = replace_entry(text, entries[place], content)
        assert list_texts(replaced) == [*texts[:place], content, *texts[place + 1 :]]
        removed = remove_entries(text, [entries[place]])
        assert list_texts(removed) == [*texts[:place], *texts[place + 1 :]]
        assert remove_entries(text, entries).strip(" \t\r\n\u2028§") == ""


async def test_link_and_mode(tmp_path: Path) -> None:
    """A link stays a link, and the file that it points to is written with its mode."""
    real = tmp_path / "notes" / "real.md"
    real.parent.mkdir()
    real.write_text("tea\n", encoding="utf-8")
    real.chmod(0o640)
    folder = tmp_path / "agent"
    folder.mkdir()
    (folder / "MEMORY.md").symlink_to("../notes/real.md")
    await CuratedFiles(folder).apply(ADD)
    assert (folder / "MEMORY.md").readlink() == Path("../notes/real.md")
    assert real.read_text(encoding="utf-8") == "tea\n§\none\ntwo\n"
    assert real.stat().st_mode & 0o777 == 0o640
    assert sorted(each.name for each in folder.iterdir()) == ["MEMORY.md"]


async def test_what_is_no_file(tmp_path: Path) -> None:
    """A pipe, a folder and a loop of links are refused at once and said in the prompt."""
    for name, make in (
        ("pipe", os.mkfifo),
        ("folder", Path.mkdir),
        ("loop", lambda path: path.symlink_to(path.name)),
    ):
        folder = tmp_path / name
        folder.mkdir()
        make(folder / "MEMORY.md")
        with pytest.raises(CuratedFileError, match=r"^MEMORY.md: "):
            await CuratedFiles(folder).apply(ADD)
        assert (await CuratedFiles(folder).take_snapshot()).memory.problem.startswith("MEMORY.md: ")


async def test_no_write_bit(tmp_path: Path) -> None:
    """A file that nobody may write is not replaced by another one."""
    path = tmp_path / "MEMORY.md"
    path.write_text("tea", encoding="utf-8")
    path.chmod(0o444)
    with pytest.raises(CuratedFileError, match="read-only"):
        await CuratedFiles(tmp_path).apply(ADD)
    assert path.read_text(encoding="utf-8") == "tea"


def test_saved_between_reading_and_writing(tmp_path: Path) -> None:
    """What an editor saves between reading and writing is read, and the change is made to it."""
    path = tmp_path / "MEMORY.md"
    path.write_bytes(b"tea")
    seen = []

    def change(data: bytes) -> bytes:
        seen.append(data)
        if len(seen) == 1:
            path.write_bytes(b"tea and milk")
        return data + b"!"

    StoredFile(path).change_bytes(change)
    assert seen == [b"tea", b"tea and milk"]
    assert path.read_bytes() == b"tea and milk!"


def test_saved_again_and_again(tmp_path: Path) -> None:
    """A file that is saved each time is left to whoever saves it."""
    path = tmp_path / "MEMORY.md"
    count = 0

    def change(data: bytes) -> bytes:
        nonlocal count
        count += 1
        path.write_bytes(str(count).encode())
        return b"ours"

    with pytest.raises(FileChanged):
        StoredFile(path).change_bytes(change)
    assert path.read_bytes() == str(count).encode()
    assert not [*tmp_path.glob(".*.tmp")]


def test_saved_into_the_replaced_file(tmp_path: Path) -> None:
    """What an editor writes into the old file while it is replaced is kept beside, and the error says where."""
    path = tmp_path / "MEMORY.md"
    path.write_bytes(b"tea")
    editor = os.open(path, os.O_WRONLY)

    def save_late(_: FrameType, event: str, function: Any) -> None:
        if event == "c_return" and function is os.replace:
            os.pwrite(editor, b"milk", 0)

    sys.setprofile(save_late)
    try:
        with pytest.raises(FileChanged) as caught:
            StoredFile(path).change_bytes(lambda data: data + b"!")
    finally:
        sys.setprofile(None)
        os.close(editor)
    assert path.read_bytes() == b"tea!"
    assert Path(caught.value.data["kept"]).read_bytes() == b"milk"


def test_lock_is_held(tmp_path: Path) -> None:
    """A writer waits for the one before it, and says so when that takes too long."""
    path = tmp_path / "MEMORY.md"

    def change(_: bytes) -> None:
        with pytest.raises(Busy, match=r"^MEMORY\.md: "):
            StoredFile(path, lock_seconds=0).change_bytes(lambda _: b"second")

    StoredFile(path).change_bytes(change)
    assert not path.exists()


async def test_large_file(tmp_path: Path) -> None:
    """A file that nobody would put before a model is not read, and the prompt says so."""
    (tmp_path / "MEMORY.md").write_bytes(b"x" * 300_000)
    snapshot = await CuratedFiles(tmp_path).take_snapshot()
    assert "more than 256,000 bytes" in snapshot.prompt
    with pytest.raises(CuratedFileError, match="256,000"):
        await CuratedFiles(tmp_path).apply(ADD)
