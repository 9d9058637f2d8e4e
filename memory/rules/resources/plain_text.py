"""Decodes the bytes of a document, and reads plain text as blocks."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator

from muniment.memory.domain.layers.resources import Block
from muniment.memory.errors import BadInput
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.language.tokens import parse_vocabulary

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_DECLARED = re.compile(
    rb"<(?:meta\b[^>]{0,200}?charset|\?xml\b[^>]{0,100}?encoding)\s{0,9}=\s{0,9}[\"']?([\w.:-]{1,40})", re.IGNORECASE
)
_HEAD_BYTES = 2_048  # of an HTML page, in which it may declare its encoding
# Codecs of more bytes a character that make text, as Python names them.
_TEXT_CODECS = parse_vocabulary(
    "utf-8 utf-16 gb18030 gbk gb2312 big5 big5hkscs shift_jis euc_jp iso2022_jp euc_kr cp949 koi8-r koi8-u"
)
_SINGLE_BYTE = re.compile(r"iso8859-\d{1,2}|cp\d{3,4}|mac-\w+")
_CONTROLS = lazy_compile("[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_CONTROL_SHARE = 0.01  # of the characters of a text that may be controls
_ITEM = lazy_compile(r"[ \t]{0,40}(?:[-*+•·]|\d{1,3}[.)、])[ \t]+(?=\S)")
_GAP = lazy_compile(r"\n[ \t]*(?:\n[ \t]*)+")


def decode_document(content: bytes, *, may_declare: bool = False) -> str:
    """Return bytes as text: by their byte order mark, else by the encoding that an HTML page declares (`may_declare`),
    else as UTF-8. Raises BadInput for bytes that are not text."""
    encoding = next((name for mark, name in _MARKS if content.startswith(mark)), None)
    if encoding is None and may_declare and (found := _DECLARED.search(content[:_HEAD_BYTES])):
        encoding = _find_codec(found[1].decode("ascii", "replace"))
    try:
        text = content.decode(encoding or "utf-8")
    except UnicodeDecodeError as error:
        wanted = f"the encoding that it declares, {encoding}" if may_declare and encoding else encoding or "UTF-8"
        raise BadInput(f"is not in {wanted} (byte {error.start + 1:,}); convert it, as with iconv") from None
    if "\x00" in text or len(_CONTROLS.findall(text)) > len(text) * _CONTROL_SHARE:
        raise BadInput("is no text: it has control characters")
    return text


def _find_codec(name: str) -> str:
    """The codec of a declared encoding. Raises BadInput for one that is unknown or makes no text of bytes."""
    try:
        codec = codecs.lookup(name).name
    except LookupError:
        codec = ""
    if codec == "ascii":
        return "utf-8"
    if codec not in _TEXT_CODECS and not _SINGLE_BYTE.fullmatch(codec):
        raise BadInput("declares an encoding that is not known; convert it to UTF-8")
    return codec


def read_text(text: str) -> Iterator[Block]:
    """Yield the blocks of a plain text: paragraphs apart by empty lines, and the items of lists."""
    for paragraph in _GAP.split(text.replace("\r\n", "\n").replace("\r", "\n")):
        yield from _read_paragraph(paragraph)


def _read_paragraph(paragraph: str) -> Iterator[Block]:
    lines: list[str] = []
    is_item = False
    for line in paragraph.split("\n"):
        if mark := _ITEM.match(line):
            yield from _join_lines(lines, is_item=is_item)
            lines, is_item = [line[mark.end() :]], True
        else:
            lines.append(line)
    yield from _join_lines(lines, is_item=is_item)


def _join_lines(lines: list[str], *, is_item: bool) -> Iterator[Block]:
    if text := "\n".join(lines).strip():
        yield Block(kind="item" if is_item else "text", text=text)
