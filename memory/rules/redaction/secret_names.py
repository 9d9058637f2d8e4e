"""What is secret by its name: a password, a token, a key, wherever in a value it stands and however short it is."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

Redactor = Callable[[str], str]
REDACTED, NESTED_TOO_DEEPLY = "[redacted:password]", "[nested too deeply]"
_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+")
_NESTED = 24
_NAME_CHARS, _JSON_CHARS = 120, 200_000
_PROGRAMS = ("command", "cmd", "program", "executable", "binary")
_NAMES = (
    "name",
    "key",
    "field",
    "header",
    "variable",
    "env",
    "param",
    "parameter",
    "label",
    "id",
    "selector",
    "element",
    "locator",
)
_VALUES = ("value", "val", "values", "data", "text", "content", "default", "string")


def _word_set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_SECRET = _word_set(
    """
    password passwords passwd passwds passphrase passphrases passcode pwd pw pass secret secrets token auth authorization
    authentication credential credentials creds cred apikey apikeys apitoken bearer jwt otp totp cvv cvc pin cookie cookies
    oauth privatekey secretkey accesskey passkey
    """
)
_TOGETHER = (
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "secret",
    "token",
    "apikey",
    "pwd",
    "credentials",
    "credential",
    "secretkey",
    "accesskey",
    "privatekey",
)
_BEFORE_PASS = _word_set(
    "db user root admin my ssh smtp ftp sftp http https mail imap pop redis pg pgsql mysql mongo store key src dest "
    "proxy sudo login web app api wifi wlan vpn ldap rdp vnc svn hg git http cert ca truststore keystore"
)
_BEFORE_KEY = _word_set(
    """
    api access secret private signing encryption decryption master auth account shared service subscription license licence
    deploy deployment ssh webhook session app application client storage function functions admin root wrapping server
    hmac aes rsa crypto cipher wifi license activation recovery write read openai anthropic stripe aws azure gcp google
    """
)
# After a secret's name: what is told of it. Before it: what makes it another thing.
_ABOUT = _word_set(
    """
    count counts type types url urls uri uris endpoint endpoints length len size sizes limit limits max min maximum minimum budget
    usage expiry expires expired expiration expire ttl age lifetime name names id ids file files path paths dir folder directory
    policy policies rule rules required enabled disabled method methods mode modes provider providers scheme strategy status
    state states version versions field fields label hint format algorithm through rate rates ratio percent percentage ok index
    position used remaining user users username login email scope scopes role roles permission permissions audience issuer
    realm host port server sock socket db database backend backends manager store stored time date at count created updated
    rotation rotated strength complexity reset change changed valid validated invalid exists present missing set unset needed
    ref reference arn alias owner group kind source per second seconds minutes hours days ms number num total threshold list
    lists class stdin prompt header_name template description title page link level levels result results required optional
    retries attempts failures errors error message help example regex pattern script callback handler function middleware module
    """
)
_OF_A_SECRET = _word_set(
    """
    type types kind url uri endpoint name names id ids user username login email host port realm issuer audience scope scopes role
    roles method mode provider scheme source algorithm format enabled disabled required status state version expires expiry expired
    expiration ttl count length created updated path file folder description title tags labels permissions
    """
)
_NO_TOKEN = _word_set(
    """
    max min num n total prompt input output completion reasoning cached context budget page next previous prev continuation
    stop eos bos pad unk mask sep cls special sync count generated new_token used remaining per first last start end cursor
    paging pagination pages nft erc ring
    """
)
_NO_PASS = _word_set(
    "first second third single multi two one dry render test low high band boarding season ski last next num max min "
    "by over under forward backward did will can should"
)
_OPEN = _word_set(
    """
    none null nil true false yes no on off required optional basic bearer digest oauth oauth2 anonymous default prompt ask env
    file keyring vault unset missing invalid expired valid ok enabled disabled token password secret passwd pass auth apikey
    api_key jwt ntlm kerberos negotiate mtls saml oidc iam string text str redacted hidden masked empty changeme placeholder
    failed passed passing denied granted success succeeded interactive manual automatic auto inherit public noauth
    """
)
_REFERENCE = re.compile(
    r"\$[A-Za-z_]\w*|\$\{.*\}|\$\(.*\)|%[A-Za-z_]+%|\{\{.*\}\}|\{[A-Za-z_][\w.]*\}|<[^<>]{1,60}>|[*xX•.…]{1,}|-|@\S+"
    r"|\[redacted:\w+\]\S*|(?:env|file|vault|op|secretsmanager|ssm|arn|gcp-sm|aws-sm|keyring):\S+|(?:os\.environ"
    r"|os\.getenv|process\.env|getenv)\b.*|(?:~|\.{1,2})/\S*|/[\w.-]+/[\w./-]*|[A-Za-z]:\\\S*"
)
_AMBIGUOUS_NAMES = frozenset(
    {"token", "auth", "pass", "authorization", "authentication", "oauth", "bearer", "jwt", "pw"}
)
_FOLDER = re.compile(r"/|~|[A-Za-z]:\\")
# What is typed into "the password field" is one.
_ENTRY = re.compile(r"\b(?:input|field|box|text_?box|entry)\b", re.IGNORECASE)
_LONG_NUMBER, _SHORT_NUMBER = 10**5, 100


@lru_cache(maxsize=4_096)
def is_secret_name(name: str) -> bool:
    """Whether a value of this name is a secret: `DB_PASS`, `clientSecret`, `x-api-key`; not `token_count`, not `author`."""
    words = _split_name(name)
    return any(_is_secret_word(words, n) and not _ABOUT & {*words[n + 1 :]} for n in range(len(words)))


def is_placeholder(value: str) -> bool:
    """Whether a value of a secret's name says nothing secret: a reference to it, a path, or a word about it."""
    bare = value.strip().strip("\"'")
    return not bare or bare.casefold() in _OPEN or bool(_REFERENCE.fullmatch(bare))


def is_folder(name: str, value: str) -> bool:
    """Whether this is no password but the folder in which one works, as a shell names it: `PWD=/home/ana`."""
    return name.lower().endswith("pwd") and bool(_FOLDER.match(value))


def redact_value(value: Any, redact: Redactor) -> Any:
    """A JSON value without secrets: each text redacted, names too, and what is secret by its name in any depth, in lists of
    arguments, in pairs of a name and a value, and in texts that are JSON themselves."""
    return _redact_value(value, redact, "", conceal=False, depth=0)


def redact_text(text: str, redact: Redactor) -> str:
    """A text without secrets, also where it is JSON."""
    return _redact_text(text, redact, 0)


def conceal_text(text: str, redact: Redactor) -> str:
    """A text that is secret by its name, as far as it is one."""
    return _conceal_text(text, redact, 0)


def conceal_number(value: float) -> float | str:
    """A number that is secret by its name, unless it is too small to be one."""
    return REDACTED if not isinstance(value, bool) and abs(value) >= _SHORT_NUMBER else value


def find_secret_members(mapping: Mapping[Any, Any], *, conceal: bool = False) -> frozenset[Any]:
    """The names in an object whose values are secret: by themselves, in an object of a secret's name and a value, and with
    `hide` all that do not only tell of a secret, such as its type."""
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
    """The program that an object of a command and its arguments names; empty where it names none."""
    return next(
        (value for name in _PROGRAMS if isinstance(value := mapping.get(name), str) and len(value.split()) == 1), ""
    )


def redact_arguments(parts: Sequence[Any], redact: Redactor, program_name: str = "") -> list[Any]:
    """The parts of a command line, or of any list: an option gives its name to the text that follows it."""
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
    if word in ("key", "keys"):
        return before in _BEFORE_KEY
    if word in ("word", "phrase", "code"):
        return before == "pass"
    if word.endswith("pass") and word != "pass":
        return word.removesuffix("pass") in _BEFORE_PASS
    return word in _SECRET or word.endswith(_TOGETHER)


def _redact_value(value: Any, redact: Redactor, program_name: str, *, conceal: bool, depth: int) -> Any:
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
    mapping: Mapping[Any, Any], redact: Redactor, *, conceal: bool, depth: int
) -> Iterator[tuple[str, Any]]:
    secrets = find_secret_members(mapping, conceal=conceal)
    program_name = find_program(mapping)
    for name, value in mapping.items():
        yield redact(str(name)), _redact_value(value, redact, program_name, conceal=name in secrets, depth=depth + 1)


def _is_harmless(name: str, value: Any) -> bool:
    """Whether a value is more likely none: a count under the name of a token (`pass: 12`), a folder under `pwd`."""
    if isinstance(value, int | float):
        return bool(_AMBIGUOUS_NAMES & {*_split_name(name)}) and abs(value) < _LONG_NUMBER
    return isinstance(value, str) and is_folder(name, value)


def _is_description(name: str, value: Any) -> bool:
    """Whether a value inside a secret only tells of it, such as its type."""
    return not isinstance(value, Mapping | list | tuple) and bool(_OF_A_SECRET & {*_split_name(name)[-1:]})


def _split_name(name: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(name[:_NAME_CHARS])]


def _redact_list(value: Sequence[Any], redact: Redactor, program_name: str, *, conceal: bool, depth: int) -> list[Any]:
    items = value if conceal else redact_arguments(value, redact, program_name)
    return [_redact_value(item, redact, program_name, conceal=conceal, depth=depth + 1) for item in items]


def _redact_argument(program_name: str, previous: str, text: str, redact: Redactor) -> str:
    """A part of a command line without what is secret by the part before it or by the program; other secrets stay."""
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


def _conceal_text(text: str, redact: Redactor, depth: int) -> str:
    if is_placeholder(text):
        return text
    scheme, _, rest = text.strip().partition(" ")
    if rest and scheme.casefold() in _OPEN:
        return f"{scheme} {rest if is_placeholder(rest) else REDACTED}"
    value = _parse_json(text)
    if value is not None and depth < _NESTED:
        return json.dumps(_redact_value(value, redact, "", conceal=True, depth=depth + 1), ensure_ascii=False)
    return REDACTED


def _redact_text(text: str, redact: Redactor, depth: int) -> str:
    value = _parse_json(text)
    if value is None or depth >= _NESTED:
        return redact(text)
    redacted = _redact_value(value, redact, "", conceal=False, depth=depth + 1)
    return redact(text) if redacted == value else redact(json.dumps(redacted, ensure_ascii=False))


def _parse_json(text: str) -> Any:
    """What a text is that is JSON: an object or a list; None for any other."""
    if len(text) > _JSON_CHARS or text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict | list) else None
