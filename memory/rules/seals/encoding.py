"""The digests of the sealed journal: SHA-256 over values in the binary format of Postgres, as docs/evidence.md says.

A record begins with the number of its fields; before each value stand the number of its type and its length, -1 for
null. The database makes such a record with `record_send`; what is digested here are its fields without their number."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256
from json import JSONDecoder
from struct import Struct

from muniment.memory.domain.evidence.seals import Reseal

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

_INT, _LONG, _TYPE, _HEAD = Struct(">i").pack, Struct(">q").pack, Struct(">I").pack, Struct(">Ii").pack
_NULL = b"\xff\xff\xff\xff"
_JSON_VERSION = b"\x01"
_NO_DETAILS = b"\x01{}"
_scan = JSONDecoder(parse_int=str, parse_float=str).raw_decode  # no number is too long


def encode_record(fields: Sequence[tuple[int, bytes | None]]) -> bytes:
    """Return a record of types and values."""
    return _INT(len(fields)) + encode_fields(fields)


def encode_fields(fields: Iterable[tuple[int, bytes | None]]) -> bytes:
    """Return types and values as they stand in a record."""
    parts = [_TYPE(type_) + _NULL if value is None else _HEAD(type_, len(value)) + value for type_, value in fields]
    return b"".join(parts)


def encode_lone_line(space: bytes, rev: int) -> bytes:
    """Return the fields of the line that a memory has which was restored without a line of its own."""
    return encode_fields(((UUID, space), (BIGINT, _LONG(rev)))) + _REST_OF_LONE_LINE


def digest_space(space: bytes, sealed_from: int) -> bytes:
    """Return what the chain of a space begins with."""
    return sha256(encode_record(((TEXT, b"muniment space 1"), (UUID, space), (BIGINT, _LONG(sealed_from))))).digest()


def digest_content(salt: bytes, private: bytes | None, held: bytes | None) -> bytes:
    """Return the digest of the content of a line: its private details, and the fields of the memory that it left, None
    for none."""
    details = _TEXT_NULL if private is None else _HEAD(TEXT, len(private)) + private
    return sha256(_CONTENT_PREFIX + salt + details + (_NO_CONTENT if held is None else held)).digest()


def digest_line(line: bytes, public: Sequence[bytes | None], content: bytes) -> bytes:
    """Return the digest of a line alone: of its fields, its public details, and the digest of its content."""
    details = _NO_DETAILS_FIELDS if public is _NO_PUBLIC else encode_fields((JSON, value) for value in public)
    return sha256(_LINE_PREFIX + line + details + _HEAD(BYTES, len(content)) + content).digest()


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

    The texts of the values are taken as they stand, so that no number is written in another way. What is no object of
    a line, as no writer makes it, is private as a whole."""
    if meta is None or meta == _NO_DETAILS:
        return _NO_PUBLIC, None
    text = meta[1:].decode()
    try:
        public, private = _split_object(text)
    except (ValueError, RecursionError):
        return _NO_PUBLIC, meta[1:]
    others = "{" + ", ".join(private) + "}" if private else None
    return tuple(public.get(name) for name in PUBLIC_DETAILS), None if others is None else others.encode()


def _split_object(text: str) -> tuple[dict[str, bytes], list[str]]:
    """Return the public details of an object as they are sent, and the others with their keys. Raises ValueError for
    another value, RecursionError for one that is nested too deep."""
    if not text.startswith("{"):
        raise ValueError
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
    return public, private


_NO_PUBLIC: tuple[bytes | None, ...] = (None,) * len(PUBLIC_DETAILS)
_NO_DETAILS_FIELDS = encode_fields((JSON, value) for value in _NO_PUBLIC)
_TEXT_NULL = encode_fields([(TEXT, None)])
_NO_CONTENT = encode_fields((type_, None) for _, type_ in CONTENT_FIELDS)
_REST_OF_LONE_LINE = encode_fields((type_, None) for _, type_ in LINE_FIELDS[2:])
_CONTENT_TAG, _LINE_TAG = b"muniment content 1", b"muniment line 1"
_CONTENT_PREFIX = (
    _INT(3 + len(CONTENT_FIELDS)) + encode_fields([(TEXT, _CONTENT_TAG)]) + _HEAD(BYTES, 32)
)  # the salt follows
_LINE_PREFIX = _INT(2 + len(LINE_FIELDS) + len(PUBLIC_DETAILS)) + encode_fields([(TEXT, _LINE_TAG)])
