"""Takes secrets, accounts and configured patterns out of texts, and finds what must not be stored at all.

`Redactor.sanitize_text` makes a text as it may be stored; `Redactor.redact_text` changes only a text with a secret."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from fnmatch import fnmatchcase
from functools import lru_cache, partial
from typing import Any

from muniment.memory.config.schema import RedactionSettings
from muniment.memory.domain.ids import SafeText
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Turn
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.language.tokens import normalize_text, repair_surrogates
from muniment.memory.rules.redaction.accounts import PAIR, PAIR_MARKS, find_pairs
from muniment.memory.rules.redaction.card_numbers import CARD_DIGITS, find_accounts
from muniment.memory.rules.redaction.command_lines import LEAK_MARKS, find_leaks
from muniment.memory.rules.redaction.contexts import find_named_values
from muniment.memory.rules.redaction.layouts import find_cells, find_cookies, list_views
from muniment.memory.rules.redaction.national_ids import find_national_ids
from muniment.memory.rules.redaction.random_tokens import find_random_tokens
from muniment.memory.rules.redaction.secret_names import is_placeholder, redact_value
from muniment.memory.rules.redaction.source_code import find_literals
from muniment.memory.rules.redaction.token_formats import compute_entropy, find_tokens
from muniment.memory.rules.redaction.vocabulary import load_unusual_names

Span = tuple[int, int, str]
_CACHE_SIZE = 500
_CACHED_CHARS = 4_000  # a longer text is not worth the place of others, and has one of few places of its own
_LONG_CACHE_SIZE = 8
_SHARED = 8  # settings whose redactors are shared in a process that reads for others

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
_PPK = re.compile(r"Private-Lines: \d{1,3}\n(?:[A-Za-z0-9+/=]{20,80}(?:\n|\Z)){1,100}")
_PEM_BODY = re.compile(r"[\s>|]*(?:[A-Za-z0-9+/=\\]{16,}[\s>|]*)*")

_TAIL, _LEAST_ENTROPY = 16, 1.5  # characters of a key, and the bits of each; an example such as ghp_xxxx has fewer
_TOKEN = re.compile(
    r"(?i)(?:token|secret)[\"']?[ \t]{0,4}[:=：][ \t]{0,4}[\"']?(" + _DIGIT_SOON + r"[A-Za-z0-9._~+/=-]{16,})"
)

_EMAIL = re.compile(r"[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,8}")
_PHONE = re.compile(
    r"(?<![\w+.-])(?:\+\d{1,3}(?:[ .-]?\(?\d{1,5}\)?){2,6}|\(?\d{3}\)?[ .-]\d{3}[ .-]\d{4}|0\d{1,4}[ /.-]\d{3,4}[ "
    r".-]?\d{3,5}|0\d{9,10})(?![\w-])|(?<!\d)1[3-9]\d[ -]?\d{4}[ -]?\d{4}(?!\d)"
)
_PHONE_DIGITS = range(7, 16)

# Each pattern above needs one of these marks, or digits. The part before the marks is in all of them.
_MARKS = (
    ("_", ("_",)),
    ("-", ("-----", "sk-", "glpat-")),
    (":", ("://", ":aa")),
    ("x", ("xox",)),
    ("z", ("aiza",)),
    ("j", ("eyj", "jelsz")),
    ("k", ("key", "token", "akia", "kod", "klucz", "khau")),
    ("p", ("pass", "pw", "psk", "p:")),
    ("b", ("bearer", "basic")),
    ("c", ("secret", "code", "codice", "contrase", "cookie", "chiave", "chave", "combination")),
    ("s", ("asia", "sandi", "salasana", "sifre", "merksatz", "hesl", "haslo")),
    ("w", ("wort", "woord", "words", "wallet seed")),
    ("h", ("phrase", "senha")),
    ("f", ("frase",)),
    ("l", ("clave", "parola", "parole", "losenord")),
    ("m", ("mdp", "mnemonic")),
    ("d", ("daten", "identifi")),
    ("g", ("gegevens",)),
    ("/", ("p/w", "u/p")),
    ("%", ("%3", "%253", "%22")),
)
_RUN = lazy_compile(r"(?<![!-~])[!-~]{20}")  # each token of a provider is so long
_PIN_NAMES = ("pin", "puk", "tan", "cvv", "cvc", "otp", "验证码")
_PIN_NAME = lazy_compile(r"(?<![a-z0-9])(?:pin|puk|tan|cvv|cvc|otp)|验证码")
_PIN_DIGITS, _ID_DIGITS = 3, 4
# A case-insensitive pattern takes these for s, k and i; `str.lower` does not.
_FOLDING = lazy_compile("[\u017f\u212a\u0130\u0131]")
_DIGIT = lazy_compile(r"\d")
_IBAN_START = lazy_compile(r"[0-9]{2}(?<=[A-Za-z]{2}[0-9]{2})")
# Maps each ASCII digit to 0 and each ASCII letter to a, so that the start of an IBAN reads aa00.
_CLASSES = bytes(48 if 48 <= n < 58 else 97 if n < 128 and chr(n).isalpha() else 32 for n in range(256))


class Redactor:
    """Takes secrets out of texts, and refuses what the denylist names. Without settings it takes out only what is a
    secret under any settings.

    The last texts are cached with their results: within a turn a message is read, learned, recorded and sent to a
    model, and a thread is sent to its model again with every turn."""

    def __init__(self, settings: RedactionSettings | None = None) -> None:
        self._settings = settings
        self._redact = lru_cache(maxsize=_CACHE_SIZE)(self.redact_uncached)
        self._sanitize = lru_cache(maxsize=_CACHE_SIZE)(self.sanitize_uncached)
        self._redact_long = lru_cache(maxsize=_LONG_CACHE_SIZE)(self.redact_uncached)
        self._sanitize_long = lru_cache(maxsize=_LONG_CACHE_SIZE)(self.sanitize_uncached)
        self._email = settings is not None and settings.email
        self._phone = settings is not None and settings.phone
        self._national_ids = settings.national_ids if settings else ()
        self._door_codes = settings is not None and settings.door_codes
        self._patterns = tuple(map(re.compile, settings.patterns)) if settings else ()
        # Whether `sanitize_text` surely returns a text as it is. False where only the full search can tell.
        self.needs_no_change: Callable[[str], bool] = partial(
            needs_no_redaction, email=self._email, phone=self._phone, national_ids=bool(self._national_ids)
        )
        if self._patterns:
            self.needs_no_change = lambda _: False

    def __reduce__(self) -> tuple[Callable[[RedactionSettings | None], Redactor], tuple[RedactionSettings | None]]:
        """Where it is unpickled, the redactors of the same settings are one, with one cache."""
        return _share_redactor, (self._settings,)

    def sanitize_text(self, text: str) -> SafeText:
        """The text as it may be stored, embedded and logged: normalized, with `[redacted:kind]` for each secret.

        A SafeText is returned as it is."""
        if isinstance(text, SafeText):
            return text
        return SafeText(self._sanitize(text) if len(text) <= _CACHED_CHARS else self._sanitize_long(text))

    def redact_text(self, text: str) -> str:
        """The text unchanged to the byte unless it holds a secret; then the result of `sanitize_text`.

        Lone surrogates, which cannot be encoded, become U+FFFD in any text."""
        return self._redact(text) if len(text) <= _CACHED_CHARS else self._redact_long(text)

    def sanitize_uncached(self, text: str) -> str:
        """The result of `sanitize_text`, of which nothing is kept."""
        return text if self.needs_no_change(text) else self._redact_normalized(text)[0]

    def redact_uncached(self, text: str) -> str:
        """The result of `redact_text`, of which nothing is kept."""
        if self.needs_no_change(text):
            return text
        redacted, count = self._redact_normalized(text)
        return redacted if count else repair_surrogates(text)

    def sanitize_value(self, value: Any) -> Any:
        """A JSON value with every text in it, names too, as it may be stored, embedded and logged."""
        return redact_value(value, self.sanitize_text)

    def clear_cache(self) -> None:
        """Drop the cached texts, after something was erased."""
        for cache in (self._redact, self._sanitize, self._redact_long, self._sanitize_long):
            cache.cache_clear()

    def find_denial_reason(self, scope: Scope, turn: Turn | None = None) -> str | None:
        """Why nothing of this scope, or of this turn, may be kept (`redact.deny_…`), or None."""
        if self._settings is None:
            return None
        tags, path = (turn.tags, turn.path) if turn else ((), None)
        return find_denial(self._settings, tags=tags, path=path, project=scope.project)

    def _redact_normalized(self, text: str) -> tuple[str, int]:
        return redact_secrets(
            normalize_text(text),
            email=self._email,
            phone=self._phone,
            national_ids=self._national_ids,
            door_codes=self._door_codes,
            patterns=self._patterns,
        )


@lru_cache(maxsize=_SHARED)
def _share_redactor(settings: RedactionSettings | None) -> Redactor:
    return Redactor(settings)


def find_denial(
    settings: RedactionSettings, *, tags: Iterable[str] = (), path: str | None = None, project: str | None = None
) -> str | None:
    """The reason why nothing with these tags, of this path or of this project is stored, or None. Case is ignored."""
    if project is not None and _fold_name(project) in set(map(_fold_name, settings.deny_projects)):
        return "denied project"
    if not {*map(_fold_name, tags)}.isdisjoint(map(_fold_name, settings.deny_tags)):
        return "denied tag"
    if path is not None and any(fnmatchcase(_fold_path(path), _fold_path(glob)) for glob in settings.deny_paths):
        return "denied path"
    return None


def needs_no_redaction(text: str, *, email: bool = False, phone: bool = False, national_ids: bool = False) -> bool:
    """Whether normalization and redaction without configured patterns surely leave the text as it is.

    A quick search for marks that every secret has; False where only the full search can tell."""
    lowered = text.lower()
    if not (text.isascii() and text.isprintable()) and _has_unusual_characters(text, lowered):
        return False
    for part, marks in _MARKS:
        if part in lowered and any(map(lowered.__contains__, marks)):
            return False
    if _RUN.search(text) is not None:
        return False
    if any(map(lowered.__contains__, LEAK_MARKS)) or (email and "@" in text):
        return False
    if any(map(lowered.__contains__, PAIR_MARKS)) and PAIR.search(text):
        return False
    if text.isascii():
        classes = text.encode().translate(_CLASSES)
        digits, has_iban_start = classes.count(b"0"), b"aa00" in classes
    else:
        digits, has_iban_start = len(_DIGIT.findall(text)), _IBAN_START.search(text) is not None
    return digits < 2 or not (
        has_iban_start
        or digits >= CARD_DIGITS
        or (phone and digits >= _PHONE_DIGITS.start)
        or (national_ids and digits >= _ID_DIGITS)
        or (digits >= _PIN_DIGITS and any(map(lowered.__contains__, _PIN_NAMES)) and _PIN_NAME.search(lowered))
    )


def redact_secrets(
    text: str,
    *,
    email: bool,
    phone: bool,
    patterns: tuple[re.Pattern[str], ...],
    national_ids: tuple[str, ...] = (),
    door_codes: bool = False,
) -> tuple[str, int]:
    """The text with `[redacted:kind]` in place of each secret, and their number. Linear in the length of the text."""
    spans = [*_find_secrets(text, door_codes), *find_accounts(text), *_find_private_keys(text)]
    spans.extend((*span, "password") for span in find_cookies(text))
    for view in list_views(text):
        spans.extend((*view.map_span((start, end)), kind) for start, end, kind in _find_secrets(view.text, door_codes))
    if email:
        spans.extend((*match.span(), "email") for match in _EMAIL.finditer(text))
    if phone:
        spans.extend(
            (*match.span(), "phone")
            for match in _PHONE.finditer(text)
            if sum(char.isdigit() for char in match.group()) in _PHONE_DIGITS
        )
    if national_ids:
        spans.extend((*span, "national_id") for span in find_national_ids(text, national_ids))
    for pattern in patterns:
        spans.extend((*match.span(), "pattern") for match in pattern.finditer(text) if match.group())
    parts: list[str] = []
    done = count = 0
    for start, end, kind in sorted(spans, key=lambda span: (span[0], -span[1])):
        if start >= done:
            parts += [text[done:start], f"[redacted:{kind}]"]
            count += 1
        done = max(done, end)
    return "".join([*parts, text[done:]]), count


def _fold_name(name: str) -> str:
    return name.strip().lstrip("#").casefold()


def _fold_path(path: str) -> str:
    """A path with one kind of separator, so that a pattern for one system matches the paths of another."""
    return path.strip().replace("\\", "/").casefold()


def _has_unusual_characters(text: str, lowered: str) -> bool:
    return (
        _FOLDING.search(text) is not None
        or (not text.isascii() and any(map(lowered.__contains__, load_unusual_names())))
        or normalize_text(text) != text
    )


def _find_secrets(text: str, door_codes: bool) -> Iterator[Span]:
    for find in (find_tokens, find_random_tokens):
        yield from ((*span, "api_key") for span in find(text))
    for pattern, kind in (
        (_JWT, "token"),
        (_KEY, "api_key"),
        (_BEARER, "token"),
        (_TOKEN, "token"),
        (_URL, "password"),
    ):
        for match in pattern.finditer(text):
            secret = match[match.lastindex or 0]
            is_example = (
                is_placeholder(secret) if pattern is _URL else compute_entropy(secret[-_TAIL:]) < _LEAST_ENTROPY
            )
            if not is_example or len(secret) == 1:
                yield (*match.span(match.lastindex or 0), kind)
    yield from ((*span, "password") for span in find_named_values(text, doors=door_codes))
    for find in (find_cells, find_leaks, find_literals, find_pairs):
        yield from ((*span, "password") for span in find(text))


def _find_private_keys(text: str) -> Iterator[Span]:
    yield from ((*match.span(), "private_key") for match in _PPK.finditer(text))
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
