"""Redacts values with the name of a secret, such as a password, however short, anywhere in a JSON value.

`redact_value` takes any JSON value; the other functions are its parts for values with types of their own. Each takes
the function that redacts a text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from muniment.memory.rules.language.lexicon import load_lexicon
from muniment.memory.rules.redaction.random_tokens import is_random

RedactText = Callable[[str], str]
_KINDS: Mapping[str, str] = {
    "api_key": "an API key", "card": "a card number", "email": "an e-mail address", "iban": "an account number",
    "national_id": "a national id",
    "password": "a password", "phone": "a phone number", "private_key": "a private key", "token": "a token",
}  # fmt: skip
_OTHER_KIND = "a text that the settings name (redact.patterns)"
_MARK = re.compile(r"\[redacted:(\w+)\]")
REDACTED, NESTED_TOO_DEEPLY = "[redacted:password]", "[nested too deeply]"
_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+")
_NESTED = 24
_NAME_CHARS, _JSON_CHARS = 120, 200_000
_PROGRAMS = ("command", "cmd", "program", "executable", "binary")
_WORDS = load_lexicon("secrets.en")
_NAMES = _WORDS.get_words("name_members")
_VALUES = _WORDS.get_words("value_members")
_SECRET = _WORDS.get_words("names")
_TOGETHER = tuple(_WORDS.get_words("endings"))
_BEFORE_PASS = _WORDS.get_words("before_pass")
_BEFORE_KEY = _WORDS.get_words("before_key")
_ABOUT = _WORDS.get_words("about")
_OF_A_SECRET = _WORDS.get_words("members")
_NO_TOKEN = _WORDS.get_words("not_token")
_NO_PASS = _WORDS.get_words("not_pass")
_OF_REFERENCE = _WORDS.get_words("of_reference")
_OPEN = _WORDS.get_words("not_values")
_REFERENCE = re.compile(
    r".{0,20}(?:\.{3}|…)|\$[A-Za-z_]\w*|\$\{.*\}|\$\(.*\)|%[A-Za-z_]+%|\{\{.*\}\}|\{[A-Za-z_][\w.]*\}|<[^<>]{1,60}>|[*xX•.…_-]{1,}|@\S+"
    r"|\[redacted:\w+\]\S*|(?:env|file|vault|op|secretsmanager|ssm|arn|gcp-sm|aws-sm|keyring):\S+|(?:os\.environ"
    r"|os\.getenv|process\.env|getenv)\b.*|(?i:your|insert|enter|replace)[_-].{1,100}|(?i:.{1,100}[_-]here)|%\(?\w{0,40}\)?[sdr]|\?|"
    r":[A-Za-z_]\w{0,40}|\[[A-Za-z _-]{2,40}\]?|[A-Za-z_][\w.]{2,100}\((?:[^\s()]{0,200}\)?)?|"
    r"(?:~|\.{1,2})/\S*|/[\w.-]+/[\w./-]*|[A-Za-z]:\\\S*"
)
_AMBIGUOUS_NAMES = _WORDS.get_words("ambiguous")
_NAME_PARTS, _FEWEST_PARTS = re.compile(r"[_.-]|(?<=[a-z])(?=[A-Z])"), 2
_FOLDER = re.compile(r"/|~|[A-Za-z]:\\")
# An input field: what is typed into "the password field" is a password.
_ENTRY = re.compile(r"\b(?:input|field|box|text_?box|entry)\b", re.IGNORECASE)
_LEAST_KEY = 32  # a key of base64 may begin like a path
_LONG_NUMBER, _SHORT_NUMBER = 10**5, 100


@lru_cache(maxsize=4_096)
def describe_redactions(text: str) -> tuple[str, ...]:
    """What was taken out of a redacted text, in words ("a password"), each once."""
    return tuple(dict.fromkeys(_KINDS.get(kind, _OTHER_KIND) for kind in _MARK.findall(text)))


def is_secret_name(name: str) -> bool:
    """Whether a value of this name is a secret: True for `DB_PASS` and `x-api-key`, False for `token_count`."""
    words = split_name(name)
    return any(_is_secret_word(words, n) and not _ABOUT & {*words[n + 1 :]} for n in range(len(words)))


def is_placeholder(value: str) -> bool:
    """Whether a value of a secret's name is no secret: a reference, a path, or a word such as `required`."""
    bare = value.strip().strip("\"'")
    if not bare or bare.casefold() in _OPEN or _is_member(bare):
        return True
    return _REFERENCE.fullmatch(bare) is not None and not (len(bare) >= _LEAST_KEY and is_random(bare))


def _is_member(text: str) -> bool:
    """Whether a text is a member of something in code, such as `settings.password`."""
    return "." in text and text.replace(".", "").replace("_", "").isalpha() and is_secret_name(text.rpartition(".")[2])


def is_reference(name: str, value: str) -> bool:
    """Whether an unquoted value says where a secret is: a variable such as `db_password`, but not under a name in
    capitals, or under `secret` the name of one, such as `db-credentials`."""
    parts = _NAME_PARTS.split(value)
    if len(parts) < _FEWEST_PARTS or not (
        value.isascii() and all(map(str.isalpha, parts)) and is_secret_name(parts[-1])
    ):
        return False
    return not name.isupper() if "-" not in value else split_name(name)[-1:] in (["secret"], ["secrets"])


def is_folder(name: str, value: str) -> bool:
    """Whether a value of a name in -pwd is the working folder of a shell, not a password: `PWD=/home/ana`."""
    return name.lower().endswith("pwd") and bool(_FOLDER.match(value))


def redact_value(value: Any, redact: RedactText) -> Any:
    """A JSON value without secrets: each text and name is redacted, and each value with a secret's name is concealed.

    Names count in objects of any depth, in lists of arguments, in name-value pairs and in texts that are JSON."""
    return _redact_value(value, redact, "", conceal=False, depth=0)


def redact_json_text(text: str, redact: RedactText) -> str:
    """A text without secrets. Of a JSON text, values with a secret's name are concealed, too."""
    return _redact_text(text, redact, 0)


def conceal_text(text: str, redact: RedactText) -> str:
    """A text with a secret's name, concealed unless it is a placeholder; of a JSON text the values are."""
    return _conceal_text(text, redact, 0)


def conceal_number(value: float) -> float | str:
    """A number with a secret's name, concealed unless it is below 100."""
    return REDACTED if not isinstance(value, bool) and abs(value) >= _SHORT_NUMBER else value


def find_secret_members(mapping: Mapping[Any, Any], *, conceal: bool = False) -> frozenset[Any]:
    """The names in an object whose values are secret.

    These are secret names, the values beside a secret's name, and with `conceal` all members but descriptions."""
    secrets = {
        name
        for name, value in mapping.items()
        if isinstance(name, str) and is_secret_name(name) and not _is_harmless(name, value)
    }
    by_name = any(
        isinstance(value := mapping.get(name), str) and is_secret_name(_ENTRY.sub("", value)) for name in _NAMES
    )
    secrets |= {name for name in mapping if by_name and str(name).lower() in _VALUES}
    return frozenset(
        secrets | {name for name, value in mapping.items() if conceal and not _is_description(str(name), value)}
    )


def find_program(mapping: Mapping[Any, Any]) -> str:
    """The program in an object of a command and its arguments; empty without one."""
    return next(
        (value for name in _PROGRAMS if isinstance(value := mapping.get(name), str) and len(value.split()) == 1), ""
    )


def redact_arguments(parts: Sequence[Any], redact: RedactText, program_name: str = "") -> list[Any]:
    """The parts of a command line or of another list, without the secrets after options with a secret's name."""
    if len(parts) == 2 and isinstance(parts[0], str) and isinstance(parts[1], str) and is_secret_name(parts[0]):
        return [parts[0], conceal_text(parts[1], redact)]
    program_name = program_name or (parts[0] if parts and isinstance(parts[0], str) else "")
    before = ["", *parts]
    return [
        _redact_argument(program_name, last if isinstance(last, str) else "", part, redact)
        if isinstance(part, str)
        else part
        for last, part in zip(before[:-1], parts, strict=True)
    ]


def _is_secret_word(words: Sequence[str], place: int) -> bool:
    word, before = words[place], words[place - 1] if place else ""
    if word in ("token", "tokens", "cookie", "cookies"):
        return before not in _NO_TOKEN and (word != "tokens" or before in _BEFORE_KEY | {"refresh", "bearer"})
    if word == "pass":
        return before not in _NO_PASS
    if word.endswith("password") and [*words[place + 1 : place + 2]] == ["key"]:
        return False  # the key in an object under which a password stands
    if word in ("secret", "secrets") and before in _OF_REFERENCE:
        return False
    if word in ("key", "keys"):
        return before in _BEFORE_KEY
    if word in ("word", "phrase", "code"):
        return before == "pass"
    if word.endswith("pass") and word != "pass":
        return word.removesuffix("pass") in _BEFORE_PASS
    return word in _SECRET or word.endswith(_TOGETHER)


def _redact_value(value: Any, redact: RedactText, program_name: str, *, conceal: bool, depth: int) -> Any:
    if isinstance(value, str):
        return _conceal_text(value, redact, depth) if conceal else _redact_text(value, redact, depth)
    if isinstance(value, Mapping) and depth < _NESTED:
        return dict(_redact_members(value, redact, conceal=conceal, depth=depth))
    if isinstance(value, list | tuple) and depth < _NESTED:
        return _redact_list(value, redact, program_name, conceal=conceal, depth=depth)
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int | float):
        return conceal_number(value) if conceal else value
    return REDACTED if conceal else redact(_format_value(value))


def _format_value(value: Any) -> str:
    try:
        return str(value)
    except RecursionError:
        return NESTED_TOO_DEEPLY


def _redact_members(
    mapping: Mapping[Any, Any], redact: RedactText, *, conceal: bool, depth: int
) -> Iterator[tuple[str, Any]]:
    secrets = find_secret_members(mapping, conceal=conceal)
    program_name = find_program(mapping)
    for name, value in mapping.items():
        yield redact(str(name)), _redact_value(value, redact, program_name, conceal=name in secrets, depth=depth + 1)


def _is_harmless(name: str, value: Any) -> bool:
    """Whether a value is probably no secret: a count with an ambiguous name (`pass: 12`), a folder under `pwd`."""
    if isinstance(value, int | float):
        return bool(_AMBIGUOUS_NAMES & {*split_name(name)}) and abs(value) < _LONG_NUMBER
    return isinstance(value, str) and is_folder(name, value)


def _is_description(name: str, value: Any) -> bool:
    """Whether a member of a secret object describes the secret, such as its type."""
    return not isinstance(value, Mapping | list | tuple) and bool(_OF_A_SECRET & {*split_name(name)[-1:]})


def split_name(name: str) -> list[str]:
    """The words of a name such as `dbPassword` or `DB_PASSWORD`, in lower case."""
    return [word.lower() for word in _WORD.findall(name[:_NAME_CHARS])]


def _redact_list(
    value: Sequence[Any], redact: RedactText, program_name: str, *, conceal: bool, depth: int
) -> list[Any]:
    items = value if conceal else redact_arguments(value, redact, program_name)
    return [_redact_value(item, redact, program_name, conceal=conceal, depth=depth + 1) for item in items]


def _redact_argument(program_name: str, previous: str, text: str, redact: RedactText) -> str:
    """A part of a command line without the secret that the part before it or the program announces."""
    if (
        previous.startswith("-")
        and "=" not in previous
        and not text.startswith("-")
        and is_secret_name(previous.lstrip("-"))
    ):
        return text if is_placeholder(text) else REDACTED
    if not (previous.startswith("-") or text.startswith("-")):
        return text
    quoted = f"'{text}'" if re.search(r"\s", text) and "'" not in text else text
    for before in (f"{program_name} {previous} ", f"{program_name} "):
        line = redact(before + quoted)
        if line.startswith(before) and line != before + quoted:
            redacted = line.removeprefix(before)
            return redacted.strip("'") if quoted is not text else redacted
    return text


def _conceal_text(text: str, redact: RedactText, depth: int) -> str:
    if is_placeholder(text):
        return text
    scheme, _, rest = text.strip().partition(" ")
    if rest and scheme.casefold() in _OPEN:
        return f"{scheme} {rest if is_placeholder(rest) else REDACTED}"
    value = _parse_json(text)
    if value is not None and depth < _NESTED:
        return json.dumps(_redact_value(value, redact, "", conceal=True, depth=depth + 1), ensure_ascii=False)
    return REDACTED


def _redact_text(text: str, redact: RedactText, depth: int) -> str:
    value = _parse_json(text)
    if value is None or depth >= _NESTED:
        return redact(text)
    redacted = _redact_value(value, redact, "", conceal=False, depth=depth + 1)
    return redact(text) if redacted == value else redact(json.dumps(redacted, ensure_ascii=False))


def _parse_json(text: str) -> Any:
    """The object or list of a JSON text; None for another text."""
    if len(text) > _JSON_CHARS or text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict | list) else None
