"""`python -m tests.token_formats gitleaks.toml VERSION` writes the lexicon of token formats from gitleaks' rules.

gitleaks (https://github.com/gitleaks/gitleaks, MIT) keeps its rules in `config/gitleaks.toml`, in the syntax of RE2.
Rules whose token is known by its own form become rows of `formats`, and those that need the provider's name beside it
rows of `named`. Left out are those of what other patterns here find, those of ids that are public, and one that takes
any hash. Of the allowlists the patterns become rows of `allowed`; example keys that are written out are left out."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DATA_FILE = Path(__file__).parent.parent / "memory/rules/redaction/token_formats.yaml"
MOST = 512  # of a repetition without an end
_LEFT_OUT = {
    "curl-auth-header",
    "curl-auth-user",
    "freemius-secret-key",
    "generic-api-key",
    "hashicorp-tf-password",
    "jwt",
    "jwt-base64",
    "kubernetes-secret-yaml",
    "nuget-config-password",
    "private-key",
    "sidekiq-secret",
    "sidekiq-sensitive-url",
    "sourcegraph-access-token",
}
_NEEDS_NAME = (r"(?i)[\w.-]{0,50}?", r"[\w.-]{0,50}?")
_PUBLIC = ("-client-id", "-pub-key", "-access-id", "-api-id", "-public-key")
_NAMED = re.compile(
    r"(?:\(\?i\))?\[\\w\.-\]\{0,50\}\?(?:\(\?i:\[\\w\.-\]\{0,50\}\?)?(?P<names>\(\?:.*?\))\(\?:\[ \\t\\w\.-\]\{0,20\}\)"
    r".*?\[\\x60'\"\\s=\]\{0,5\}(?P<token>\(.*?\))\(\?:\[\\x60"
)
_START = "(?<![A-Za-z0-9])"
_STARTS = (r"\b", "(?:^", "(?:[^", r"(?i)\b", r"(?i:\b", "(?<")
_LITERAL = re.compile(r"[\w-]+")
_END = r"""(?:[\x60'"\s;]|\\[nr]|$)"""
_LOOSE_END = "(?![A-Za-z0-9])"  # in prose a full stop or a bracket follows, too
_CLASSES = {"[:alnum:]": "A-Za-z0-9", "[:alpha:]": "A-Za-z", "[:digit:]": "0-9", "[:xdigit:]": "0-9A-Fa-f"}
_PIECE = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?[a-z-]+\)|\(|\)|\||.", re.DOTALL)
_ENDLESS = re.compile(r"\{(\d+),\}")


def convert_pattern(pattern: str) -> str:
    """An RE2 pattern in Python's syntax: flags within a group get a group, and each repetition has an end."""
    for name, members in _CLASSES.items():
        pattern = pattern.replace(name, members)
    pattern = pattern.replace(_END, _LOOSE_END).replace(r"\z", r"\Z").replace(r"\x60", "`")
    parts: list[str] = []
    flags: list[list[str]] = [[]]  # of each open group, those that are set within it
    for match in _PIECE.finditer(pattern):
        piece = match.group()
        if re.fullmatch(r"\(\?[a-z-]+\)", piece):
            parts.append(piece[:-1] + ":")
            flags[-1].append(piece[:-1] + ":")
        elif piece == "(":
            parts.append(piece)
            flags.append([])
        elif piece == ")":
            parts.append(")" * len(flags.pop()) + piece)
        elif piece == "|" and flags[-1]:
            parts.append(")" * len(flags[-1]) + "|" + "".join(flags[-1]))
        elif piece in "+*" and parts:
            parts.append(f"{{{int(piece == '+')},{MOST}}}")
        else:
            parts.append(piece)
    return _ENDLESS.sub(rf"{{\1,{MOST}}}", "".join(parts) + ")" * len(flags[0]))


def convert_rules(rules: list[dict[str, Any]]) -> Iterator[str]:
    """The rows of tokens with a form of their own: id, least entropy, words of which one stands in each, pattern."""
    for rule in rules:
        pattern = rule.get("regex", "")
        if not pattern or pattern.startswith(_NEEDS_NAME) or _is_left_out(rule):
            continue
        converted = convert_pattern(pattern)
        if not converted.startswith(_STARTS):
            converted = _START + converted
        yield _format_row(rule, rule["keywords"], converted)


def convert_named_rules(rules: list[dict[str, Any]]) -> Iterator[str]:
    """The rows of tokens beside the name of a provider: id, least entropy, names, pattern of a whole token."""
    for rule in rules:
        match = _NAMED.match(rule.get("regex", "")) if rule.get("regex", "").startswith(_NEEDS_NAME) else None
        if match and not _is_left_out(rule):
            spelled = match["names"]
            names = [word for word in rule["keywords"] if word in spelled or re.search(spelled, word, re.IGNORECASE)]
            names = names or re.findall(r"[\w-]{3,}", spelled)  # the keywords stand in the token
            yield _format_row(rule, names, f"(?i:{convert_pattern(match['token'])})")


def convert_allowlists(rules: list[dict[str, Any]]) -> Iterator[str]:
    """The patterns of examples, which are no secrets."""
    for rule in rules:
        if rule.get("regex") and not _is_left_out(rule):
            for allowed in rule.get("allowlists", ()):
                if "regexTarget" not in allowed and "paths" not in allowed:
                    yield from (convert_pattern(each) for each in allowed["regexes"] if not _LITERAL.fullmatch(each))


def _is_left_out(rule: dict[str, Any]) -> bool:
    return rule["id"] in _LEFT_OUT or rule["id"].endswith(_PUBLIC) or not rule.get("keywords")


def _format_row(rule: dict[str, Any], words: list[str], pattern: str) -> str:
    re.compile(pattern, re.ASCII)
    return f"{rule['id']} {rule.get('entropy', 0):g} {','.join(word.lower() for word in words)} {pattern}"


def main(path: str, version: str) -> None:
    """Write the file."""
    rules = tomllib.loads(Path(path).read_text(encoding="utf-8"))["rules"]
    formats, named = list(convert_rules(rules)), list(convert_named_rules(rules))
    lines = [
        "# Formats of the tokens of providers. Written by `python -m tests.token_formats`; do not edit.",
        f"source: gitleaks {version} (config/gitleaks.toml), MIT, Copyright (c) 2019 Zachary Rice.",
        "# Rows of a name, the least entropy, words of which one stands in each token, and the pattern.",
        "formats: |",
        *(f"  {row}" for row in formats),
        "# Rows of a name, the least entropy, names beside the token, and its pattern.",
        "named: |",
        *(f"  {row}" for row in named),
        "# What examples look like.",
        "allowed: |",
        *(f"  {row}" for row in convert_allowlists(rules)),
    ]
    DATA_FILE.write_text("\n".join(lines) + "\n", encoding="utf-8")
    sys.stdout.write(f"{len(formats)} formats and {len(named)} named formats in {DATA_FILE.name}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
