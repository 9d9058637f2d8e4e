"""Finds tokens of unknown providers by their randomness, with a prefix or after a word of secrecy.

Randomness alone is no secret: ids and hashes have it, too. A prefix with the length of a key, or what is said before a
token, makes it one."""

from __future__ import annotations

import re
from collections.abc import Iterator

from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.redaction.token_formats import NamedFormat, find_named_formats

_RUN = lazy_compile(r"(?<![A-Za-z0-9_.+/~-])(?=[A-Za-z_.+/~-]{0,40}[0-9])[A-Za-z0-9][A-Za-z0-9_.+/~-]{13,500}={0,2}")
_PREFIX = lazy_compile(r"(?:[A-Za-z][A-Za-z0-9]{1,11}[_-]){1,3}(?=[A-Za-z0-9])")
_SECRET_PREFIX = lazy_compile(r"(?:^|[_-])(?:live|prod|secret|sk|rk|key|api|pat|token|tok)[_-]", re.IGNORECASE)
_HASH = lazy_compile(r"(?:sha|md)[0-9]", re.IGNORECASE)
_MARK = lazy_compile(r"[\w:]*\]")  # of what was redacted; its beginning may be cut off
_AFTER_HASH = lazy_compile(r"(?:sha|md)[0-9]{1,3}[:-]\Z", re.IGNORECASE)
_HEX = lazy_compile(r"[0-9a-fA-F-]+")
_SEGMENT = lazy_compile(r"[A-Za-z0-9]{16,}")
_SECRECY = lazy_compile(
    r"(?<![A-Za-z])(?:keys?|secrets?|token|pat|auth|credentials?|creds|password|passwd|bearer)(?![A-Za-z])",
    re.IGNORECASE,
)
_CHANGE = lazy_compile(r"[a-z](?=[A-Z0-9])|[A-Z](?=[0-9])|[0-9](?=[A-Za-z])")
_LONG, _SHORT, _FEW, _LEAST_CHANGES = 32, 20, 3, 8
# A token that nothing announces: long, of all kinds of characters, with no beginning of data in base64, and no address
# of a blockchain, which is of base 58 (without 0, O, I and l).
_BARE = lazy_compile(
    r"(?!0x|(?:[a-z]{2,12}|[A-Z]{2,12})[_-])(?=[A-Za-z_-]*[0-9])(?=[a-z0-9_-]*[A-Z])"
    r"(?=[A-Z0-9_-]*[a-z]|.{40})[A-Za-z0-9]+(?:[_-][A-Za-z0-9]+){0,4}"
)
_BASE_58 = lazy_compile(r"[1-9A-HJ-NP-Za-km-z]+")
_IS_DATA = lazy_compile(r"AAAA|MI[IG]|iVBOR|R0lGOD|JVBER|UEsDB|PHN2Zy|eyJ")
_IS_ID = lazy_compile(
    r"(?i)(?:\b(?:ids?|hash|digest|checksum|fingerprint|address|addr|integrity|cursor|page|commit|rev|revision|tx|trace"
    r"|request|session|nonce|public|etag|sha\d*|kid|cid|ref|serial|build|version|sheet|document|doc|file|video)"
    r"|id)[\"']?(?:[ \t]is)?[ \t:=#<]{1,4}[\"']?\Z"
)
_GOES_ON = ("/", "+", "=", "@")  # a path, base64, an address of mail
_BARE_SIZES, _SHARE_OF_BARE = range(_LONG, 129), 0.28
_BEFORE, _AFTER = 120, 60
_SHARE_OF_CHANGES = 0.22  # of the characters of a token the next is of another class; in words of a fifth at most


def find_random_tokens(text: str) -> Iterator[tuple[int, int]]:
    """The spans of tokens that no format with a form of its own describes. Linear in the length of the text."""
    named = find_named_formats(text)
    secrecy = _SECRECY.search(text) is not None
    for match in _RUN.finditer(text):
        token = match.group().rstrip("._~/+-")
        span = match.start(), match.start() + len(token)
        may_be_announced = secrecy and (is_random(token) or _is_base_32(token))
        is_announced = may_be_announced and _is_announced(text, span, named)
        if is_announced or _has_secret_prefix(token) or _is_bare_secret(text, span):
            yield span


def count_changes(text: str) -> int:
    """How often a small letter, a capital and a digit follow each other; a capital before a small letter is usual."""
    return len(_CHANGE.findall(text))


def is_random(text: str) -> bool:
    """Whether small letters, capitals and digits alternate as they do in no word, name or number."""
    changes = count_changes(text)
    return changes >= _FEW and changes >= len(text) * _SHARE_OF_CHANGES


def _has_secret_prefix(token: str) -> bool:
    prefix = _PREFIX.match(token)
    least = _SHORT if prefix and _SECRET_PREFIX.search(prefix[0]) else _LONG
    if not prefix or len(token) < prefix.end() + least or _HASH.match(token):
        return False
    rest = token[prefix.end() :]
    segment = _SEGMENT.search(rest)
    return segment is not None and is_random(segment.group()) and not _HEX.fullmatch(rest)


def _is_base_32(token: str) -> bool:
    """Whether a token of small letters and digits is too long and too mixed for a word or a name."""
    return (
        len(token) >= _LONG
        and token.isalnum()
        and token.upper() != token.lower()
        and count_changes(token) >= _LONG // 4
    )


def _is_bare_secret(text: str, span: tuple[int, int]) -> bool:
    """Whether a token is so random that it is a secret wherever it stands, and no address, id, hash or data."""
    token = text[slice(*span)]
    if (
        len(token) not in _BARE_SIZES
        or not _BARE.fullmatch(token)
        or text[span[1] : span[1] + 1] in ("/", "+", "=", "@")
    ):
        return False
    if count_changes(token) < len(token) * _SHARE_OF_BARE or _HEX.fullmatch(token) or _BASE_58.fullmatch(token):
        return False
    before = text[max(span[0] - _BEFORE, 0) : span[0]]
    return not (
        "://" in before.rpartition(" ")[2] or _IS_DATA.match(token) or _HASH.match(token) or _IS_ID.search(before)
    )


def _is_announced(text: str, span: tuple[int, int], named: tuple[NamedFormat, ...]) -> bool:
    """Whether a word of secrecy stands before a token that is long, or of the provider that is named beside it."""
    start, end = span
    before = text[max(start - _BEFORE, 0) : start].rpartition("\n")[2].rpartition(". ")[2]
    before = _MARK.sub(" ", before)
    if not _SECRECY.search(before) or _AFTER_HASH.search(before):
        return False
    token = text[start:end]
    prefix = _PREFIX.match(token)
    if (
        len(token) >= _SHORT
        and not _HEX.fullmatch(token, prefix.end() if prefix else 0)
        and not _HASH.match(token)
        and "/" not in token[:1]
    ):
        return True
    beside = (before + text[end : end + _AFTER].partition("\n")[0]).lower()
    return any(each.describes(token, beside) for each in named)
