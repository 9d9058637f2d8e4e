"""Finds secrets in command lines, settings and headers, by the name before them or by the program."""

from __future__ import annotations

import re
from collections.abc import Iterator

from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.language.lexicon import load_lexicon
from muniment.memory.rules.language.stop_words import load_stop_words
from muniment.memory.rules.redaction.secret_names import is_folder, is_placeholder, is_reference, is_secret_name

_WORDS = load_lexicon("secrets.en")
_HINTS = _WORDS.get_words("hints")
_HINTED = r"(?=[\w.-]{0,60}?(?i:pass|pwd|pw|secret|token|auth|cred|key|cookie|jwt|otp|cv[vc]|pin|bearer))"
_NAME = _HINTED + r"(?P<name>[A-Za-z_][\w.-]{0,60})"
_EDGE = r"(?<![A-Za-z0-9_.-])"
_BARE = r"[^\s\"'&;|<>`]"
_VALUE = rf"(?:\"(?P<double>[^\"\n]{{1,400}})\"|'(?P<single>[^'\n]{{1,400}})'|(?P<bare>(?!-){_BARE}{{1,400}}))"

_NAMED = (
    lazy_compile(rf"{_EDGE}-{{0,2}}{_NAME}=(?!=){_VALUE}"),  # of a shell, a query, a form
    lazy_compile(rf"{_EDGE}--?{_NAME}[ \t]+{_VALUE}"),
    lazy_compile(
        rf"(?<!\w)(?:setx?|config|configure|ENV|ARG|#?define)[ \t](?:[^|;&\n]{{0,60}}?[ \t])??(?:[\w/@.-]*:)?"
        rf"{_NAME}[ \t]+{_VALUE}"
    ),
)
_QUOTED = lazy_compile(
    rf"(?P<open>\\{{0,3}}[\"']){_NAME}(?P=open)\s{{0,8}}[:=]>?\s{{0,8}}"
    r"(?:[bru]?(?P<mark>\\{0,3}[\"'])(?P<bare>(?:(?!(?P=mark))[^\n]){1,400})(?P=mark)|(?P<number>\d{3,40}))"
)
_HEADER = lazy_compile(
    rf"(?P<mark>[\"']){_NAME}:[ \t]*(?:(?:(?i:basic|bearer|token|digest|apikey|negotiate))[ \t]+)?(?P<bare>[^\"'\n]{{1,"
    rf"400}})(?P=mark)"
)
_AUTHORIZATION = lazy_compile(
    r"(?i)\b(?:proxy-)?authorization\\?[\"']?[ \t]{0,4}[:=][ \t]{0,4}\\?[\"']?(?:(?:basic|bearer|token|digest|apikey"
    r"|negotiate)[ \t]{1,4})?(?P<bare>[^\s\"',;\\]{3,400})"
)
_LINE = lazy_compile(
    rf"^[ \t]*(?:-[ \t]+)?(?:export[ \t]+|set[ \t]+)?{_NAME}[ \t]*(?:[?:+]?=|:)[ \t]*{_VALUE}[ \t]*,?[ \t]*$",
    re.MULTILINE,
)
_LISTED = lazy_compile(
    rf"\b(?i:name|key|type|id)[\"']?[:=][ \t]*[\"']?{_NAME}[\"']?[ \t]*[,\s]\s{{0,20}}"
    rf"(?:[\w-]{{1,20}}=[\"'][^\"'<>\n]{{0,60}}[\"'][ \t]+){{0,3}}[\"']?(?i:value)[\"']?[:=][ \t]*{_VALUE}"
)
_ASSIGNED = lazy_compile(
    rf"{_EDGE}{_NAME}(?:[ \t]?:[ \t]?[\w\[\]<>]{{1,30}})?[ ]{{1,8}}(?:=|:=|=>)[ \t]{{0,8}}[bru]?"
    r"(?:\"(?P<double>[^\"\n]{1,400})\"|'(?P<single>[^'\n]{1,400})')"
)
_VARIABLE = lazy_compile(rf"\bvariable[ \t]+\"{_NAME}\"[ \t]*\{{[^{{}}]{{0,400}}?\bdefault[ \t]*=[ \t]*{_VALUE}")
# For each program, the options before a secret and the options with a secret attached.
_FIRST = r"(?:^|[\s;|&(\"'`/])"
_REST = r"(?:[^|;&\n]{0,300}?[ \t])?"
_WITHIN = r"(?:\"(?P<double>[^\"\n]{1,200})\"|'(?P<single>[^'\n]{1,200})'|(?P<bare>(?!-)[^\s\"'|;&<>]{1,200}))"
_ATTACHED = (
    r"(?:\"(?P<double>[^\"\n]{1,200})\"|'(?P<single>[^'\n]{1,200})'|(?P<bare>[^\s\"'|;&<>=-][^\s\"'|;&<>]{0,199}))"
)


def _build_pattern(programs: str, options: str, value: str = _WITHIN, space: str = r"(?:[ \t]+|=)?") -> re.Pattern[str]:
    return lazy_compile(rf"{_FIRST}(?:{programs})(?:\.exe)?[ \t]+{_REST}(?:{options}){space}{value}", re.MULTILINE)


_USER = (
    r"(?:\"[^\":\n]{0,80}:(?P<double>[^\"\n]{1,200})\"|'[^':\n]{0,80}:(?P<single>[^'\n]{1,200})'|[^\s\"':|;&]{0,80}:"
    r"(?P<bare>[^\s\"'|;&]{1,200}))"
)
_PROGRAMS = (
    _build_pattern("curl|wget", "-b|--cookie|--header=Cookie:",
                   r"[\"']?[^\s\"'|;&=]{1,80}=(?P<bare>[^\s\"'|;&]{1,400})"),
    lazy_compile(rf"\bvault[ \t]+login[ \t]+{_WITHIN}"),
    _build_pattern("ssh-keygen", "-[NP]"),
    _build_pattern(
        "curl|https?|xh|wget|aria2c", "-[a-zA-Z]{0,4}u|--user|--proxy-user|-[a-zA-Z]{0,4}U|-[a-zA-Z]{0,3}a|--auth",
        _USER
    ),
    _build_pattern("mysql|mysqldump|mysqladmin|mysqlimport|mysqlcheck|mysqlshow|mariadb|mariadb-dump|mariadb-admin"
                   "|mycli", "-p", _ATTACHED, ""),
    _build_pattern("7z|7za|7zr|7zz|rar|unrar", "-h?p", _ATTACHED, ""),
    _build_pattern("sshpass|mongo|mongosh|mongodump|mongorestore|mongoexport|mongoimport|mongostat|clickhouse|psexec",
                   "-p"),
    _build_pattern(r"(?:docker|podman|buildah|skopeo|nerdctl|helm[ \t]+registry|az|oc|cf|heroku|argocd|nuget"
                   r"|gcloud)[ \t]+login", "-p"),
    _build_pattern("redis-cli|valkey-cli|keydb-cli", "-a"),
    _build_pattern("sqlcmd|bcp|osql|vault|ssh-keygen|unzip|zip|isql|freebcp|tsql", "-P"),
    _build_pattern("ldap(?:search|modify|add|delete|passwd|whoami|compare|modrdn)", "-w"),
    _build_pattern(r"openssl[ \t]+[\w-]+", "-k|-K"),
    _build_pattern("lftp", "-u", r"[^\s,|;&]{1,80},(?P<bare>[^\s|;&]{1,200})"),
    _build_pattern("smbclient|rpcclient|net|smbmap|crackmapexec", "-U",
                   r"[\"']?[^\s%|;&\"']{1,80}%(?P<bare>[^\s|;&\"']{1,200})"),
    _build_pattern("xfreerdp|wfreerdp", "/p", r"(?P<bare>[^\s|;&]{1,200})", ":"),
    _build_pattern("htpasswd", "-[a-zA-Z]*b[a-zA-Z]*",
                   r"\S{1,200}[ \t]+\S{1,80}[ \t]+[\"']?(?P<bare>[^\s\"'|;&]{1,200})", r"[ \t]+"),
    _build_pattern("sqlplus|rman|expdp|impdp", "", r"[\w$.]{1,60}/(?P<bare>[^\s@|;&\"'/]{1,200})@", ""),
    _build_pattern("wpa_passphrase", "", rf"[^\s|;&]{{1,80}}[ \t]+{_WITHIN}", ""),
    _build_pattern("ConvertTo-SecureString", "-String[ \t]+|", _WITHIN, ""),
    _build_pattern("net1?", "user", r"[^\s/]{1,80}[ \t]+(?P<bare>(?![/*])[^\s|;&]{1,200})", r"[ \t]+"),
    _build_pattern("rabbitmqctl", "add_user|change_password", r"\S{1,80}[ \t]+[\"']?(?P<bare>[^\s\"'|;&]{1,200})",
                   r"[ \t]+"),
)  # fmt: skip
_XML = lazy_compile(rf"<{_NAME}>\s{{0,40}}(?P<bare>[^<>\s](?:[^<>\n]{{0,400}}?[^<>\s])?)\s{{0,40}}</(?P=name)>")
_TOKEN_USER = lazy_compile(r"https?://(?P<bare>(?=[A-Za-z_-]{0,40}\d)(?=[\d_-]{0,40}[A-Za-z])[A-Za-z0-9_-]{16,200})@")
# Each command above has one of these, and each name one of the hints: most texts need no further search.
_OF_PROGRAMS = _WORDS.get_words("program_hints") | {"net "}
_PIPED = lazy_compile(
    r"\b(?:echo|printf)[ \t]+(?:-[neE]+[ \t]+)?[\"']?(?P<bare>[^\s\"'|;&$][^\"'|;&\n]{0,199}?)(?:\\n)?[\"']?[ \t]*\|[ "
    r"\t]*(?:sudo\b[^|;&\n]{0,60}-[a-zA-Z]*S|[^|;&\n]{0,120}--(?:password|passphrase|with-token|token)(?:-stdin|-fd)?\b"
    r"|(?:sudo[ \t]+)?(?:chpasswd|passwd)\b)"
)
_WIFI = lazy_compile(r"WIFI:[^\n]{0,200}?\bP:(?P<bare>[^;\n]{1,80})")
_PAIR = lazy_compile(
    r"\bu(?:ser)?[:=][ \t]?[^\s:]{1,64}[ \t,;/|]{1,4}p[:=][ \t]?(?P<bare>[^\s,;|]{4,100})", re.IGNORECASE
)
_PGPASS = lazy_compile(r"(?<!\S)[\w.*-]{1,80}:(?:\d{1,5}|\*):[\w*-]{1,60}:[\w*-]{1,60}:(?P<bare>[^\s:]{4,100})(?!\S)")
_ORACLE = lazy_compile(r"jdbc:oracle:\w{1,8}:[^\s/:@]{1,60}/(?P<bare>[^\s@]{1,100})@")
_OPENSSL = lazy_compile(r"(?<![\w:])pass:(?P<bare>[^\s\"'|;&]{1,200})")
_PARTS = ("double", "single", "bare", "number")
_PROSE = _WORDS.get_words("prose")
_SINGLE = _WORDS.get_words("plain_names")
_SCHEMES = _WORDS.get_words("schemes")
_PIN, _PIN_VALUE = lazy_compile(r"(?i)(?<![a-z])pin\Z"), lazy_compile(r"\d{4,12}")  # others are pins of a chip
_MOUNT = lazy_compile(r"(?:id|type|source|src|name|env)=")
_NEEDED = {_LISTED: "value", _VARIABLE: "variable", _XML: "</", _ASSIGNED: "="}  # in each text that matches

# A text in which `find_leaks` finds anything has in lower case one of the marks.
LEAK_MARKS = (*_OF_PROGRAMS, *_HINTS)


def find_leaks(text: str) -> Iterator[tuple[int, int]]:
    """The spans of the secrets in a text. Linear in the length of the text."""
    plain_case = text.lower()
    if any(map(plain_case.__contains__, _OF_PROGRAMS)):
        for pattern in (*_PROGRAMS, _PIPED, _OPENSSL, _TOKEN_USER, _WIFI, _PAIR, _PGPASS, _ORACLE):
            for match in pattern.finditer(text):
                yield from _find_value(match)
    if any(map(plain_case.__contains__, _HINTS)):
        yield from _find_named_secrets(text, plain_case)


def _find_named_secrets(text: str, plain_case: str) -> Iterator[tuple[int, int]]:
    for pattern in (*_NAMED, _LINE, _ASSIGNED, _QUOTED, _HEADER, _LISTED, _VARIABLE, _XML):
        for match in pattern.finditer(text) if _NEEDED.get(pattern, "") in plain_case else ():
            if is_secret_name(match["name"]) and (pattern not in (_LINE, _ASSIGNED) or _is_setting(match)):
                yield from _find_named_value(match) if pattern in (*_NAMED, _LINE) else _find_value(match)
    for match in _AUTHORIZATION.finditer(text):
        if match["bare"].casefold() not in _SCHEMES:
            yield from _find_value(match)


def _find_named_value(match: re.Match[str]) -> Iterator[tuple[int, int]]:
    """The span of a value with a secret's name, unless it is a count, a folder, a word of prose or a mount."""
    name = match["name"]
    start, end = _locate_value(match)
    value = match.string[start:end]
    word = value.casefold().strip(".,;:()")
    if _MOUNT.match(value) or (
        match["bare"] and (word in _PROSE or (word.isalpha() and word in load_stop_words("en")))
    ):
        return
    if value.isdigit() and len(value) < 6 and not re.search(r"(?i)password|passwd|pwd|secret|pin|otp|cv[vc]", name):
        return
    if is_folder(name, value) or (match["bare"] and is_reference(name, value.strip(".,;:()"))):
        return
    if _PIN.search(name) and not _PIN_VALUE.fullmatch(value):
        return
    yield from _find_value(match)


def _find_value(match: re.Match[str]) -> Iterator[tuple[int, int]]:
    start, end = _locate_value(match)
    text = match.string
    if is_placeholder(text[start:end]):
        return
    if match.groupdict().get("bare"):
        while end > start and text[end - 1] in ".,;:!?)]}":
            end -= 1
    if end > start and not is_placeholder(text[start:end]) and not text.startswith("[redacted:", start):
        yield start, end


def _locate_value(match: re.Match[str]) -> tuple[int, int]:
    names = match.re.groupindex
    return next((match.span(name) for name in _PARTS if name in names and match[name] is not None), (0, 0))


def _is_setting(match: re.Match[str]) -> bool:
    """Whether a line is a setting with a secret: under a plain name such as `token` the value must not be a word."""
    start, end = _locate_value(match)
    if match["name"].lower().endswith("cookie"):
        return False  # its value is a list of pairs
    return match["name"].casefold() not in _SINGLE or not match.string[start:end].isalpha()
