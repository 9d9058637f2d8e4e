"""The digests of the sealed journal: SHA-256 over values in the binary format of Postgres, as docs/evidence.md says.

A record begins with the number of its fields; before each value stand the number of its type and its length, -1 for
null. The database makes the same bytes with `record_send`."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from json import JSONDecoder
from struct import Struct

from muniment.memory.domain.evidence.seals import Cells, Reseal

TEXT, UUID, BIGINT, BYTES, JSON = 25, 2950, 20, 17, 3802
_SMALLINT, _REAL, _BOOLEAN, _TIME, _TEXTS, _UUIDS = 21, 700, 16, 1184, 1009, 2951
# The columns of a memory in the order in which they are sealed, without its id, which the line has.
CONTENT_FIELDS = (
    ("kind", TEXT), ("category", TEXT), ("text", TEXT), ("fact", JSON), ("stable_key", TEXT), ("importance", _SMALLINT),
    ("confidence", _REAL), ("trust", TEXT), ("pinned", _BOOLEAN), ("state", TEXT), ("tags", _TEXTS), ("agent_id", TEXT),
    ("run_id", TEXT), ("actor_id", TEXT), ("role", TEXT), ("session_id", TEXT), ("thread_id", TEXT),
    ("event_time", _TIME), ("created_at", _TIME), ("updated_at", _TIME), ("purge_at", _TIME), ("superseded_by", UUID),
    ("context", TEXT), ("turns", _UUIDS), ("aliases", _TEXTS), ("project_id", TEXT), ("app_id", TEXT), ("reach", TEXT),
    ("source", TEXT), ("expires_at", _TIME),
)  # fmt: skip
# The columns of a line. Its details that are words of the product follow, each as a field, then its content's digest.
LINE_FIELDS = (
    ("space_id", UUID), ("rev", BIGINT), ("memory_id", UUID), ("action", TEXT), ("old_ref", TEXT), ("new_ref", TEXT),
    ("thread_id", TEXT), ("node", TEXT), ("actor", TEXT), ("band", TEXT), ("sim", _REAL), ("ts", _TIME),
    ("category", TEXT),
)  # fmt: skip
PUBLIC_DETAILS = ("why", "notes", "consent", "field", "run", "hard")

_INT, _LONG, _HEAD = Struct(">i").pack, Struct(">q").pack, Struct(">Ii").pack
_NULL = b"\xff\xff\xff\xff"
_JSON_VERSION = b"\x01"
_NO_DETAILS = b"\x01{}"
_scan = JSONDecoder().raw_decode


def encode_record(fields: Sequence[tuple[int, bytes | None]]) -> bytes:
    """Return a record of types and values."""
    parts = [_INT(len(fields))]
    for type_, value in fields:
        parts.append(Struct(">I").pack(type_) + _NULL if value is None else _HEAD(type_, len(value)) + value)
    return b"".join(parts)


def digest_space(space: bytes, sealed_from: int) -> bytes:
    """Return what the chain of a space begins with."""
    return sha256(encode_record(((TEXT, b"muniment space 1"), (UUID, space), (BIGINT, _LONG(sealed_from))))).digest()


def digest_content(salt: bytes, private: bytes | None, held: Cells | None) -> bytes:
    """Return the digest of the content of a line: its private details, and the memory that it left, None for none."""
    parts = [_CONTENT_PREFIX, salt, _TEXT_NULL if private is None else _HEAD(TEXT, len(private)) + private]
    if held is None:
        parts.append(_NO_CONTENT)
    else:
        parts += _encode_cells(_CONTENT_HEADS, held)
    return sha256(b"".join(parts)).digest()


def digest_line(line: Cells, public: Sequence[bytes | None], content: bytes) -> bytes:
    """Return the digest of a line alone: of its columns, its public details, and the digest of its content."""
    parts = [_LINE_PREFIX, *_encode_cells(_LINE_HEADS, (*line, *public))]
    parts += (_HEAD(BYTES, len(content)), content)
    return sha256(b"".join(parts)).digest()


def digest_reseals(reseals: Sequence[Reseal]) -> bytes:
    """Return the digest of what an erasure has sealed anew; empty for nothing."""
    if not reseals:
        return b""
    tag = (TEXT, b"muniment reseal 1")
    ordered = sorted(reseals)
    return sha256(
        b"".join(encode_record((tag, (BIGINT, _LONG(each.rev)), (BYTES, each.content))) for each in ordered)
    ).digest()


def digest_chain(before: bytes, line: bytes, resealed: bytes) -> bytes:
    """Return the digest of a line over the digest before it."""
    return sha256(before + line + resealed).digest()


def split_details(meta: bytes | None) -> tuple[tuple[bytes | None, ...], bytes | None]:
    """Return the public details of a line, each as JSON that is sent, and the others as a text; None for none.

    The texts of the values are taken as they stand, so that no number is written in another way."""
    if meta is None or meta == _NO_DETAILS:
        return _NO_PUBLIC, None
    text = meta[1:].decode()
    public: dict[str, bytes] = {}
    private: list[str] = []
    place = 1
    while text[place] != "}":
        key, after = _scan(text, place)
        _, end = _scan(text, after + 2)  # after the colon and a space
        if key in PUBLIC_DETAILS:
            public[key] = _JSON_VERSION + text[after + 2 : end].encode()
        else:
            private.append(text[place:end])
        place = end + 2 if text[end] == "," else end
    others = "{" + ", ".join(private) + "}" if private else None
    return tuple(public.get(name) for name in PUBLIC_DETAILS), None if others is None else others.encode()


def _encode_cells(heads: Sequence[tuple[bytes, bytes]], cells: Sequence[bytes | None]) -> list[bytes]:
    """Return values with their types and lengths; each head is a type's, and that of its null."""
    return [
        null if cell is None else head + (_SIZES[len(cell)] if len(cell) < _SHORT else _INT(len(cell))) + cell
        for (head, null), cell in zip(heads, cells, strict=True)
    ]


def _encode_type(type_: int) -> bytes:
    return Struct(">I").pack(type_)


_NO_PUBLIC: tuple[bytes | None, ...] = (None,) * len(PUBLIC_DETAILS)
_TEXT_NULL = _encode_type(TEXT) + _NULL
_SHORT = 256
_SIZES = [_INT(size) for size in range(_SHORT)]  # most values are short
_CONTENT_HEADS = [(_encode_type(type_), _encode_type(type_) + _NULL) for _, type_ in CONTENT_FIELDS]
_NO_CONTENT = b"".join(null for _, null in _CONTENT_HEADS)
_LINE_TYPES = [type_ for _, type_ in LINE_FIELDS] + [JSON] * len(PUBLIC_DETAILS)
_LINE_HEADS = [(_encode_type(type_), _encode_type(type_) + _NULL) for type_ in _LINE_TYPES]
_CONTENT_TAG, _LINE_TAG = b"muniment content 1", b"muniment line 1"
_CONTENT_PREFIX = (
    _INT(3 + len(CONTENT_FIELDS)) + _HEAD(TEXT, len(_CONTENT_TAG)) + _CONTENT_TAG + _HEAD(BYTES, 32)
)  # the salt follows
_LINE_PREFIX = _INT(2 + len(_LINE_HEADS)) + _HEAD(TEXT, len(_LINE_TAG)) + _LINE_TAG
