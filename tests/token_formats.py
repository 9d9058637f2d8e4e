"""`python -m tests.token_formats gitleaks.toml VERSION` writes the lexicon of token formats from gitleaks' rules.

gitleaks (https://github.com/gitleaks/gitleaks, MIT) keeps its rules in `config/gitleaks.toml`, in the syntax of RE2.
Taken are the rules whose token is known by its own form. Left out are those that need the provider's name beside any
text, which the names of secrets do here, those of what other patterns here find, and one that takes any hash."""

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
    "jwt",
    "jwt-base64",
    "kubernetes-secret-yaml",
    "nuget-config-password",
    "private-key",
    "sidekiq-sensitive-url",
    "sourcegraph-access-token",
}
_NEEDS_NAME = (r"(?i)[\w.-]{0,50}?", r"[\w.-]{0,50}?")
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
    """The rows of the file: id, least entropy, words of which one stands in each token, and pattern."""
    for rule in rules:
        pattern = rule.get("regex", "")
        if not pattern or pattern.startswith(_NEEDS_NAME) or rule["id"] in _LEFT_OUT or not rule.get("keywords"):
            continue
        converted = convert_pattern(pattern)
        re.compile(converted, re.ASCII)
        keywords = ",".join(word.lower().replace(" ", "\\s") for word in rule["keywords"])
        yield f"{rule['id']} {rule.get('entropy', 0):g} {keywords} {converted}"


def main(path: str, version: str) -> None:
    """Write the file."""
    rows = list(convert_rules(tomllib.loads(Path(path).read_text(encoding="utf-8"))["rules"]))
    lines = [
        "# Formats of the tokens of providers. Written by `python -m tests.token_formats`; do not edit.",
        f"source: gitleaks {version} (config/gitleaks.toml), MIT, Copyright (c) 2019 Zachary Rice.",
        "# Rows of a name, the least entropy, words of which one stands in each token, and the pattern.",
        "formats: |",
        *(f"  {row}" for row in rows),
    ]
    DATA_FILE.write_text("\n".join(lines) + "\n", encoding="utf-8")
    sys.stdout.write(f"{len(rows)} formats in {DATA_FILE.name}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
