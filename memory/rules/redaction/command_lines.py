"""Secrets in command lines, in settings and in headers: what is secret by the name before it, or by the program it is for."""

from __future__ import annotations

import re
from collections.abc import Iterator

from muniment.memory.rules.language.lazy_regex import late
from muniment.memory.rules.language.normalize import vocabulary
from muniment.memory.rules.redaction.secret_names import folder, plain, secret

_HINTS = ("pass", "pw", "secret", "token", "auth", "cred", "key", "cookie", "jwt", "otp", "cvv", "cvc", "pin", "bearer")
_HINTED = r"(?=[\w.-]{0,60}?(?i:pass|pwd|pw|secret|token|auth|cred|key|cookie|jwt|otp|cv[vc]|pin|bearer))"
_NAME = _HINTED + r"(?P<name>[A-Za-z_][\w.-]{0,60})"
_EDGE = r"(?<![A-Za-z0-9_.-])"
_BARE = r"[^\s\"'&;|<>`]"
_VALUE = rf"(?:\"(?P<double>[^\"\n]{{1,400}})\"|'(?P<single>[^'\n]{{1,400}})'|(?P<bare>(?!-){_BARE}{{1,400}}))"

_NAMED = (
    late(rf"{_EDGE}-{{0,2}}{_NAME}=(?!=){_VALUE}"),  # of a shell, a query, a form
    late(rf"{_EDGE}--?{_NAME}[ \t]+{_VALUE}"),
    late(rf"\b(?:setx?|config|configure)[ \t](?:[^|;&\n]{{0,60}}?[ \t])??(?:[\w/@.-]*:)?{_NAME}[ \t]+{_VALUE}"),
)
_QUOTED = late(
    rf"(?P<open>\\{{0,3}}[\"']){_NAME}(?P=open)\s{{0,8}}[:=]>?\s{{0,8}}"
    r"(?:[bru]?(?P<mark>\\{0,3}[\"'])(?P<bare>(?:(?!(?P=mark))[^\n]){1,400})(?P=mark)|(?P<number>\d{3,40}))"
)
_HEADER = late(
    rf"(?P<mark>[\"']){_NAME}:[ \t]*(?:(?:(?i:basic|bearer|token|digest|apikey|negotiate))[ \t]+)?(?P<bare>[^\"'\n]{{1,400}})(?P=mark)"
)
_AUTHORIZATION = late(
    r"(?i)\b(?:proxy-)?authorization\\?[\"']?[ \t]{0,4}[:=][ \t]{0,4}\\?[\"']?(?:(?:basic|bearer|token|digest|apikey|negotiate)[ \t]{1,4})?"
    r"(?P<bare>[^\s\"',;\\]{3,400})"
)
_LINE = late(
    rf"^[ \t]*(?:-[ \t]+)?(?:export[ \t]+|set[ \t]+)?{_NAME}[ \t]*[:=][ \t]*{_VALUE}[ \t]*,?[ \t]*$", re.MULTILINE
)
_LISTED = late(
    rf"\b(?:name|key)[\"']?[:=][ \t]*[\"']?{_NAME}[\"']?[ \t]*[,\n]\s{{0,20}}[\"']?value[\"']?[:=][ \t]*{_VALUE}"
)
# By the program: the options that are followed by a secret, and those to which one is attached.
_FIRST = r"(?:^|[\s;|&(\"'`/])"
_REST = r"(?:[^|;&\n]{0,300}?[ \t])?"
_WITHIN = r"(?:\"(?P<double>[^\"\n]{1,200})\"|'(?P<single>[^'\n]{1,200})'|(?P<bare>(?!-)[^\s\"'|;&<>]{1,200}))"
_ATTACHED = (
    r"(?:\"(?P<double>[^\"\n]{1,200})\"|'(?P<single>[^'\n]{1,200})'|(?P<bare>[^\s\"'|;&<>=-][^\s\"'|;&<>]{0,199}))"
)


def _given(programs: str, options: str, value: str = _WITHIN, space: str = r"(?:[ \t]+|=)?") -> re.Pattern[str]:
    return late(rf"{_FIRST}(?:{programs})(?:\.exe)?[ \t]+{_REST}(?:{options}){space}{value}", re.MULTILINE)


_USER = r"(?:\"[^\":\n]{0,80}:(?P<double>[^\"\n]{1,200})\"|'[^':\n]{0,80}:(?P<single>[^'\n]{1,200})'|[^\s\"':|;&]{0,80}:(?P<bare>[^\s\"'|;&]{1,200}))"
_PROGRAMS = (
    _given("curl|wget", "-b|--cookie|--header=Cookie:", r"[\"']?[^\s\"'|;&=]{1,80}=(?P<bare>[^\s\"'|;&]{1,400})"),
    late(rf"\bvault[ \t]+login[ \t]+{_WITHIN}"),
    _given("ssh-keygen", "-[NP]"),
    _given(
        "curl|https?|xh|wget|aria2c", "-[a-zA-Z]{0,4}u|--user|--proxy-user|-[a-zA-Z]{0,4}U|-[a-zA-Z]{0,3}a|--auth", _USER
    ),
    _given("mysql|mysqldump|mysqladmin|mysqlimport|mysqlcheck|mysqlshow|mariadb|mariadb-dump|mariadb-admin|mycli",
           "-p", _ATTACHED, ""),
    _given("7z|7za|7zr|7zz|rar|unrar", "-h?p", _ATTACHED, ""),
    _given("sshpass|mongo|mongosh|mongodump|mongorestore|mongoexport|mongoimport|mongostat|clickhouse|psexec", "-p"),
    _given(r"(?:docker|podman|buildah|skopeo|nerdctl|helm[ \t]+registry|az|oc|cf|heroku|argocd|nuget|gcloud)[ \t]+login", "-p"),
    _given("redis-cli|valkey-cli|keydb-cli", "-a"),
    _given("sqlcmd|bcp|osql|vault|ssh-keygen|unzip|zip|isql|freebcp|tsql", "-P"),
    _given("ldap(?:search|modify|add|delete|passwd|whoami|compare|modrdn)", "-w"),
    _given(r"openssl[ \t]+[\w-]+", "-k|-K"),
    _given("lftp", "-u", r"[^\s,|;&]{1,80},(?P<bare>[^\s|;&]{1,200})"),
    _given("smbclient|rpcclient|net|smbmap|crackmapexec", "-U", r"[\"']?[^\s%|;&\"']{1,80}%(?P<bare>[^\s|;&\"']{1,200})"),
    _given("xfreerdp|wfreerdp", "/p", r"(?P<bare>[^\s|;&]{1,200})", ":"),
    _given("htpasswd", "-[a-zA-Z]*b[a-zA-Z]*", r"\S{1,200}[ \t]+\S{1,80}[ \t]+[\"']?(?P<bare>[^\s\"'|;&]{1,200})", r"[ \t]+"),
    _given("sqlplus|rman|expdp|impdp", "", r"[\w$.]{1,60}/(?P<bare>[^\s@|;&\"'/]{1,200})@", ""),
    _given("rabbitmqctl", "add_user|change_password", r"\S{1,80}[ \t]+[\"']?(?P<bare>[^\s\"'|;&]{1,200})", r"[ \t]+"),
)  # fmt: skip
_XML = late(rf"<{_NAME}>[ \t]*(?P<bare>[^<>\n]{{1,400}}?)[ \t]*</(?P=name)>")
_TOKEN_USER = late(r"https?://(?P<bare>(?=[A-Za-z_-]{0,40}\d)(?=[\d_-]{0,40}[A-Za-z])[A-Za-z0-9_-]{16,200})@")
# What no such command is without, and no such name: most texts are done with after a look for these.
_OF_PROGRAMS = vocabulary(
    """
    curl http xh wget aria2 mysql mariadb mycli 7z rar sshpass mongo clickhouse psexec login -cli sqlcmd bcp osql vault ssh-keygen
    zip isql tsql ldap openssl lftp smb rpcclient crackmapexec freerdp htpasswd sqlplus rman expdp impdp rabbitmqctl echo printf pass:
    """
) | {"net "}
_PIPED = late(
    r"\b(?:echo|printf)[ \t]+(?:-[neE]+[ \t]+)?[\"']?(?P<bare>[^\s\"'|;&$][^\"'|;&\n]{0,199}?)(?:\\n)?[\"']?[ \t]*\|[ \t]*"
    r"(?:sudo\b[^|;&\n]{0,60}-[a-zA-Z]*S|[^|;&\n]{0,120}--(?:password|passphrase|with-token|token)(?:-stdin|-fd)?\b|(?:sudo[ \t]+)?(?:chpasswd|passwd)\b)"
)
_OPENSSL = late(r"(?<![\w:])pass:(?P<bare>[^\s\"'|;&]{1,200})")
_PARTS = ("double", "single", "bare", "number")
# A name in prose is no option: "the --password flag", "token=ring", and what a program is asked about its passwords.
_PROSE = vocabulary("flag flags option options argument arguments parameter switch and or is are was in to for of with as on by the a an"
                    " value values instead from when if which that this")  # fmt: skip
_SINGLE = vocabulary(
    "secret secrets token tokens auth pass credential credentials pw pin key authorization cookie cookies"
)
_SCHEMES = vocabulary(
    "basic bearer token digest apikey negotiate scheme header required auth authentication see the is"
)
_MOUNT = late(r"(?:id|type|source|src|name|env)=")


def leaks(text: str) -> Iterator[tuple[int, int]]:
    """Where in a text a secret stands. Linear in the text."""
    plain_case = text.lower()
    if any(map(plain_case.__contains__, _OF_PROGRAMS)):
        for pattern in (*_PROGRAMS, _PIPED, _OPENSSL, _TOKEN_USER):
            for found in pattern.finditer(text):
                yield from _whole(found)
    if any(map(plain_case.__contains__, _HINTS)):
        yield from _by_name(text)


def _by_name(text: str) -> Iterator[tuple[int, int]]:
    for pattern in (*_NAMED, _LINE, _QUOTED, _HEADER, _LISTED, _XML):
        for found in pattern.finditer(text):
            if secret(found["name"]) and (pattern is not _LINE or _telling(found)):
                yield from _named(found) if pattern in (*_NAMED, _LINE) else _whole(found)
    for found in _AUTHORIZATION.finditer(text):
        if found["bare"].casefold() not in _SCHEMES:
            yield from _whole(found)


def _named(found: re.Match[str]) -> Iterator[tuple[int, int]]:
    """A value of a secret's name, but for a count, a folder, a word of prose, and what is only mounted."""
    name = found["name"]
    start, end = _span(found)
    value = found.string[start:end]
    if _MOUNT.match(value) or (found["bare"] and value.casefold().strip(".,;:()") in _PROSE):
        return
    if value.isdigit() and len(value) < 6 and not re.search(r"(?i)password|passwd|pwd|secret|pin|otp|cv[vc]", name):
        return
    if folder(name, value):
        return
    yield from _whole(found)


def _whole(found: re.Match[str]) -> Iterator[tuple[int, int]]:
    start, end = _span(found)
    text = found.string
    if found.groupdict().get("bare"):
        while end > start and text[end - 1] in ".,;:!?)]}":
            end -= 1
    if end > start and not plain(text[start:end]) and not text.startswith("[redacted:", start):
        yield start, end


def _span(found: re.Match[str]) -> tuple[int, int]:
    names = found.re.groupindex
    return next((found.span(one) for one in _PARTS if one in names and found[one] is not None), (0, 0))


def _telling(found: re.Match[str]) -> bool:
    """Whether a line is a setting: where its name alone proves little, the value is no word."""
    start, end = _span(found)
    return found["name"].casefold() not in _SINGLE or not found.string[start:end].isalpha()
