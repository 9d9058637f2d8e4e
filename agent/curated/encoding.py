"""How a curated file is encoded: UTF-8, or what its mark at the beginning says."""

from __future__ import annotations

import codecs
from dataclasses import dataclass

_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))


@dataclass(frozen=True, slots=True)
class FileText:
    """The text of a file and how it is encoded. `bad_byte` is where it cannot be read in that encoding, None where it
    can; its text has U+FFFD there."""

    text: str = ""
    mark: bytes = b""
    codec: str = "utf-8"
    bad_byte: int | None = None

    def encode_text(self, text: str) -> bytes:
        """Return another text in the encoding of this one, with the same mark."""
        return self.mark + text.encode(self.codec)


def decode_text(data: bytes) -> FileText:
    """Return the text of a file's bytes."""
    mark, codec = next(((mark, codec) for mark, codec in _MARKS if data.startswith(mark)), (b"", "utf-8"))
    body = data[len(mark) :]
    try:
        text = body.decode(codec)
    except UnicodeDecodeError as error:
        return FileText(body.decode(codec, "replace"), mark, codec, len(mark) + error.start)
    return FileText(text, mark, codec)
