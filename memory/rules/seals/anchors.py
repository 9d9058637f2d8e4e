"""Anchors as a file: JSON that a program or a person can read, and the bytes that are signed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any
from uuid import UUID

from muniment.memory.domain.evidence.seals import Anchor, AnchorFile, Signature
from muniment.memory.domain.ids import Revision, SpaceId
from muniment.memory.errors import BadInput

_FORMAT = "muniment-anchors/1"
_KEY_PREFIX = "ed25519:"
_KEY_BYTES, _SIGNATURE_BYTES, _DIGEST_BYTES = 32, 64, 32
_KEY_ID_DIGITS = 16


def encode_anchors(anchors: Sequence[Anchor], at: datetime) -> bytes:
    """Return the bytes that are signed: JSON with sorted names and without spaces, in UTF-8."""
    return json.dumps(_dump(anchors, at), sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def dump_anchor_file(file: AnchorFile) -> str:
    """Return the file as JSON, one anchor on a line."""
    body = _dump(file.anchors, file.at)
    head = {
        "format": body["format"],
        "at": body["at"],
        "key": format_key(file.signature.public_key),
        "key_id": make_key_id(file.signature.public_key),
        "signature": file.signature.value.hex(),
    }
    lines = ",\n".join("    " + json.dumps(each) for each in body["anchors"])
    opened = json.dumps(head, indent=2).removesuffix("\n}")
    return f'{opened},\n  "anchors": [\n{lines}\n  ]\n}}\n' if lines else f'{opened},\n  "anchors": []\n}}\n'


def parse_anchor_file(text: bytes) -> AnchorFile:
    """Return the anchors of a file. Raises BadInput, which names the part that is not one."""
    try:
        data = json.loads(text)
    except ValueError:
        raise BadInput("anchor: is no JSON; take the file as `muniment anchor export` wrote it") from None
    if not isinstance(data, dict) or data.get("format") != _FORMAT:
        raise BadInput(f"anchor: format: {_FORMAT!r} wanted; take the file as `muniment anchor export` wrote it")
    rows = data.get("anchors")
    if not isinstance(rows, list):
        raise BadInput(f"anchor: anchors: a list wanted, {type(rows).__name__} given")
    signature = Signature(
        public_key=parse_key(data.get("key"), "anchor: key"),
        value=_parse_hex(data.get("signature"), _SIGNATURE_BYTES, "anchor: signature"),
    )
    anchors = tuple(_parse_anchor(row, f"anchor: anchors[{n}]") for n, row in enumerate(rows))
    return AnchorFile(anchors=anchors, at=_parse_time(data.get("at"), "anchor: at"), signature=signature)


def format_key(public_key: bytes) -> str:
    """Return a public key as it is written."""
    return _KEY_PREFIX + public_key.hex()


def make_key_id(public_key: bytes) -> str:
    """Return a short name of a public key."""
    return sha256(public_key).hexdigest()[:_KEY_ID_DIGITS]


def parse_key(given: object, field: str = "key") -> bytes:
    """Return a public key of its text. Raises BadInput."""
    if not isinstance(given, str) or not given.startswith(_KEY_PREFIX):
        raise BadInput(f"{field}: {_KEY_PREFIX} and {2 * _KEY_BYTES} hexadecimal digits wanted")
    return _parse_hex(given.removeprefix(_KEY_PREFIX), _KEY_BYTES, field)


def _dump(anchors: Sequence[Anchor], at: datetime) -> dict[str, Any]:
    return {
        "format": _FORMAT,
        "at": _format_time(at),
        "anchors": [
            {
                "space": str(anchor.space),
                "rev": int(anchor.rev),
                "digest": anchor.digest.hex(),
                "founded_at": _format_time(anchor.founded_at),
                "at": _format_time(anchor.at),
            }
            for anchor in anchors
        ],
    }


def _parse_anchor(row: object, field: str) -> Anchor:
    if not isinstance(row, Mapping):
        raise BadInput(f"{field}: an object wanted, {type(row).__name__} given")
    rev = row.get("rev")
    if not isinstance(rev, int) or isinstance(rev, bool) or rev < 1:
        raise BadInput(f"{field}.rev: a whole number from 1 wanted")
    try:
        space = UUID(row.get("space"))
    except (AttributeError, TypeError, ValueError):
        raise BadInput(f"{field}.space: a UUID wanted") from None
    return Anchor(
        space=SpaceId(space),
        rev=Revision(rev),
        digest=_parse_hex(row.get("digest"), _DIGEST_BYTES, f"{field}.digest"),
        founded_at=_parse_time(row.get("founded_at"), f"{field}.founded_at"),
        at=_parse_time(row.get("at"), f"{field}.at"),
    )


def _parse_hex(given: object, size: int, field: str) -> bytes:
    try:
        value = bytes.fromhex(given) if isinstance(given, str) else b""
    except ValueError:
        value = b""
    if len(value) != size:
        raise BadInput(f"{field}: {2 * size} hexadecimal digits wanted")
    return value


def _format_time(at: datetime) -> str:
    return at.astimezone(UTC).isoformat()


def _parse_time(given: object, field: str) -> datetime:
    try:
        at = datetime.fromisoformat(given) if isinstance(given, str) else None
    except ValueError:
        at = None
    if at is None or at.tzinfo is None:
        raise BadInput(f"{field}: a time with its zone wanted")
    return at
