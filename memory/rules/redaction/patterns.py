"""What leaves a text before it is stored, embedded or logged: secrets, accounts and configured patterns."""

from __future__ import annotations

import re
from collections.abc import Iterator

from muniment.memory.rules.language.normalize import parse_vocabulary
from muniment.memory.rules.redaction.command_lines import find_leaks
from muniment.memory.rules.redaction.secret_names import is_folder

Span = tuple[int, int, str]

# A boundary that also holds between a CJK character and a key, where \b does not.
_EDGE = r"(?<![A-Za-z0-9])"
_DIGIT_SOON = r"(?=[A-Za-z_.~+/=-]{0,64}[0-9])"
_KEY = re.compile(
    _EDGE
    + r"(?:sk-"
    + _DIGIT_SOON
    + r"[A-Za-z0-9_-]{16,}|sk-[A-Za-z0-9]{20,}|\d{8,10}:AA[A-Za-z0-9_-]{30,}|[sr]k_(?:live|test)_[A-Za-z0-9]{10,}"
    r"|gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{16,}|glpat-[A-Za-z0-9_-]{16,}|A[KS]IA[0-9A-Z]{16}"
    r"|xox[abeoprs]-[A-Za-z0-9-]{8,}|AIza[0-9A-Za-z_-]{30,}|hf_[A-Za-z0-9]{24,}|npm_[A-Za-z0-9]{30,})"
)
_JWT = re.compile(r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)?")
_BEARER = re.compile(
    r"(?i)" + _EDGE + r"(?:bearer|basic|(?<=: )token)[ \t]{1,4}(" + _DIGIT_SOON + r"[A-Za-z0-9._~+/=-]{16,})"
)
_URL = re.compile(r"://[^\s:/@]{0,64}:([^\s/?#\"'<>]{1,128})@")
_PEM = re.compile(r"-----(BEGIN|END) [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_PEM_BODY = re.compile(r"\s*(?:[A-Za-z0-9+/=\\]{16,}\s*)*")

_TOKEN = re.compile(
    r"(?i)(?:token|secret)[\"']?[ \t]{0,4}[:=：][ \t]{0,4}[\"']?(" + _DIGIT_SOON + r"[A-Za-z0-9._~+/=-]{16,})"
)

_VALUE = r"""(?!\[redacted:)(?:"([^"\n]{1,200})"|'([^'\n]{1,200})'|([^\s，。；！？、]{1,200}))"""
_NAME = (
    r"(?i)" + _EDGE + r"(?:pass[ _-]?(?:word|wd|phrase|code)|pwd|(?:api|access|secret|private)[ _-]?key|(?:access|auth"
    r"|api|refresh|session)[ _-]?token|client[ _-]?secret)s?"
)
_SECRET = re.compile(
    _NAME + r"[\"']?(?:[ \t]{1,4}(?:is|was)[ \t]{0,4}[:=：][ \t]{0,4}|(?P<loose>[ \t]{1,4}(?:(?:(?:has[ \t]been|was"
    r"|is)[ \t](?:now[ \t])?)?(?:changed|set|reset|updated)[ \t]to|will[ \t]be|is|was|=|:)[ \t]{1,4}(?:still[ \t]"
    r"|now[ \t])?)|[ \t]{0,4}[:=：][ \t]{0,4})" + _VALUE
)
_PW = re.compile(r"(?i)" + _EDGE + r"pw[ \t]{0,4}[:=：][ \t]{0,4}" + _VALUE)
# Where the words around it prove little, a value with a digit among its letters does.
_MIXED = r"(?!\[redacted:)((?=[!-~]{0,40}?[0-9])(?=[!-~]{0,40}?[A-Za-z])[!-~]{6,200})"
_SECRET_NEAR = (
    re.compile(_NAME + r"[ \t](?:for|of|to|on|at)(?:[ \t][\w.'-]{1,30}){1,5}?[ \t](?:is|was|=)[ \t:]{1,4}" + _MIXED),
    re.compile(_NAME + r"[ \t,]{1,4}" + _MIXED),
    re.compile(
        r"(?i)(?<![!-~])"
        + _MIXED
        + r"[ \t](?:as|for)[ \t](?:the|my|a|our)[ \t](?:[a-z]{1,20}[ \t])?pass(?:word|code|phrase)\b"
    ),
)
_ZH = r"(?:密码|口令|密钥|秘钥|令牌)"
_SECRET_ZH = (
    re.compile(_ZH + r"[ \t]{0,4}(?:是|[改换设]?(?:成了?|为了?)|：|:|=)[ \t]{0,4}(?!\[redacted:)([!-~]{3,200})"),
    re.compile(_ZH + r"[ \t]{0,4}[:：][ \t]{0,4}(?!\[redacted:)([^\s，。；！？、]{0,40}\d[^\s，。；！？、]{0,40})"),
    re.compile(_ZH + r"[ \t]{0,4}(?!\[redacted:)(?=[!-~]{0,40}?\d)([!-~]{4,200})"),
)
_PIN = re.compile(
    r"(?i)"
    + _EDGE
    + r"(?:pin|cvv|cvc|otp|验证码)(?:[ \t]code)?(?:[ \t]{0,4}(?:is|:|=|是|为|：)[ \t]{0,4}(\d(?:[ -]?\d){2,7})"
    r"|[ \t]{0,4}(\d{4,8}))(?!\d)"
)
# "my password is too short" says nothing secret.
_NOT_A_SECRET = parse_vocabulary(
    """
    a an the too so very not no now being been wrong right correct incorrect invalid expired lost forgotten weak
    strong short long required missing needed the same different hard easy safe unsafe secure insecure out in to
    on old new this that what there really still my your stored saved optional set unset none null true false changed
    reset updated leaked stolen kept hidden shared
    """
)

_GAP = r"[ .\u00a0\u2009\u200b-\u200d\u2060\u202f\u3000\ufeff-]"  # what is put between the groups of a number
_DIGITS = re.compile(rf"\d+(?:{_GAP}\d+)*")
_CARD_SHAPES = frozenset({(4, 4, 4, 4), (4, 6, 5), (4, 6, 4), (4, 4, 4, 4, 3), (8, 8), *((n,) for n in range(13, 20))})
_CARD_DIGITS = min(map(sum, _CARD_SHAPES))
_IBAN = re.compile(_EDGE + rf"[A-Za-z]{{2}}[0-9]{{2}}(?:{_GAP}?[A-Za-z0-9]){{11,40}}")
_EMAIL = re.compile(r"[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,8}")
_PHONE = re.compile(
    r"(?<![\w+.-])(?:\+\d{1,3}(?:[ .-]?\(?\d{1,5}\)?){2,6}|\(?\d{3}\)?[ .-]\d{3}[ .-]\d{4}|0\d{1,4}[ /.-]\d{3,4}[ "
    r".-]?\d{3,5}|0\d{9,10})(?![\w-])|(?<!\d)1[3-9]\d[ -]?\d{4}[ -]?\d{4}(?!\d)"
)
_PHONE_DIGITS = range(7, 16)


def redact_secrets(text: str, *, email: bool, phone: bool, patterns: tuple[re.Pattern[str], ...]) -> tuple[str, int]:
    """The text with `[redacted:kind]` where a secret stood, and how many stood there. Linear in the text."""
    spans = [*_find_secrets(text), *_find_accounts(text), *((*span, "password") for span in find_leaks(text))]
    if email:
        spans.extend((*found.span(), "email") for found in _EMAIL.finditer(text))
    if phone:
        spans.extend(_find_phones(text))
    for pattern in patterns:
        spans.extend((*found.span(), "pattern") for found in pattern.finditer(text) if found.group())
    return _replace_spans(text, spans)


def _replace_spans(text: str, spans: list[Span]) -> tuple[str, int]:
    out: list[str] = []
    done = count = 0
    for start, end, kind in sorted(spans, key=lambda span: (span[0], -span[1])):
        if start >= done:
            out += [text[done:start], f"[redacted:{kind}]"]
            count += 1
        done = max(done, end)
    return "".join([*out, text[done:]]), count


def _find_secrets(text: str) -> Iterator[Span]:
    yield from _find_private_keys(text)
    for pattern, kind in ((_JWT, "token"), (_KEY, "api_key")):
        yield from ((*found.span(), kind) for found in pattern.finditer(text))
    for pattern, kind in ((_BEARER, "token"), (_TOKEN, "token"), (_URL, "password"), (_PIN, "password")):
        yield from ((*found.span(found.lastindex or 0), kind) for found in pattern.finditer(text))
    for found in _SECRET.finditer(text):
        yield from _find_value(text, found, found.lastindex or 0, loose=bool(found["loose"]))
    for pattern in (_PW, *_SECRET_NEAR, *_SECRET_ZH):
        for found in pattern.finditer(text):
            yield from _find_value(text, found, found.lastindex or 0, loose=False)


def _find_value(text: str, match: re.Match[str], group: int, *, loose: bool) -> Iterator[Span]:
    start, end = match.span(group)
    if text[start - 1] not in "\"'":
        while end > start and text[end - 1] in ".,;!?)":
            end -= 1
    if is_folder(match.group()[:3], text[start:end]):
        return
    if end > start and not (loose and text[start:end].casefold() in _NOT_A_SECRET):
        yield start, end, "password"


def _find_private_keys(text: str) -> Iterator[Span]:
    opened: re.Match[str] | None = None
    for mark in _PEM.finditer(text):
        if mark[1] == "BEGIN":
            opened = opened or mark
        elif opened:
            yield opened.start(), mark.end(), "private_key"
            opened = None
    body = _PEM_BODY.match(text, opened.end()) if opened else None
    if opened and body and body.group().strip():
        yield opened.start(), body.end(), "private_key"


def _find_accounts(text: str) -> Iterator[Span]:
    for run in _DIGITS.finditer(text):
        yield from _find_cards(run)
    for found in _IBAN.finditer(text):
        for length in range(len(found.group()), 14, -1):
            stop = found.start() + length
            if text[stop : stop + 1].isascii() and text[stop : stop + 1].isalnum():
                continue
            if _has_iban_checksum(re.sub(_GAP, "", found.group()[:length])):
                yield found.start(), stop, "iban"
                break


def _find_cards(run: re.Match[str]) -> Iterator[Span]:
    if len(run.group()) < _CARD_DIGITS:
        return
    groups = [(run.start() + part.start(), part.group()) for part in re.finditer(r"\d+", run.group())]
    first = 0
    while first < len(groups):
        for size in (5, 4, 3, 2, 1):
            some = groups[first : first + size]
            number = "".join(str(int(digit)) for _, digits in some for digit in digits)
            if (
                tuple(len(digits) for _, digits in some) in _CARD_SHAPES
                and number[0] in "23456"
                and _has_luhn_checksum(number)
            ):
                yield some[0][0], some[-1][0] + len(some[-1][1]), "card"
                first += len(some) - 1
                break
        first += 1


def _has_luhn_checksum(number: str) -> bool:
    twice = (0, 2, 4, 6, 8, 1, 3, 5, 7, 9)
    return sum(twice[int(d)] if i % 2 else int(d) for i, d in enumerate(reversed(number))) % 10 == 0


def _has_iban_checksum(code: str) -> bool:
    return 15 <= len(code) <= 34 and int("".join(str(int(c, 36)) for c in code[4:] + code[:4])) % 97 == 1


def _find_phones(text: str) -> Iterator[Span]:
    for found in _PHONE.finditer(text):
        if sum(c.isdigit() for c in found.group()) in _PHONE_DIGITS:
            yield (*found.span(), "phone")
