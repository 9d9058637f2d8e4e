"""The licences of what an installation brings along: `make notice` writes NOTICE from the installed packages."""

from __future__ import annotations

from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

NOTICE = Path(__file__).parents[1] / "NOTICE"
_HEAD = """\
Muniment
Copyright The Muniment authors

This product is licensed under the Apache License, Version 2.0; see LICENSE.

An installation with all extras also installs the packages below. Each is under a licence of its own, whose text is in
its wheel. The embedder bge-small-en-v1.5 (BAAI, MIT) is fetched by the first start.

The formats of tokens in memory/rules/redaction/token_formats.yaml are those of gitleaks (MIT, Copyright (c) 2019
Zachary Rice).

This list is written by `make notice`.

"""
_CLASSIFIER = "License :: OSI Approved :: "


def list_packages(name: str, extras: frozenset[str]) -> dict[str, Distribution]:
    """Return what this package requires on this platform, and what that requires, by name, without the package."""
    found: dict[str, Distribution] = {}
    waiting = [(name, extras)]
    seen: set[tuple[str, frozenset[str]]] = set()
    while waiting:
        package, wanted = waiting.pop()
        if (package, wanted) in seen:
            continue
        seen.add((package, wanted))
        found[package] = distribution(package)
        for line in found[package].requires or ():
            need = Requirement(line)
            if need.marker is None or any(need.marker.evaluate({"extra": extra}) for extra in ("", *wanted)):
                waiting.append((canonicalize_name(need.name), frozenset(need.extras)))
    del found[name]
    return found


def describe_licence(package: Distribution) -> str:
    """Return the licence that the package's metadata names, in a line."""
    meta = package.metadata
    if "License-Expression" in meta:
        return meta["License-Expression"]
    named = [line.removeprefix(_CLASSIFIER) for line in meta.get_all("Classifier", ()) if line.startswith(_CLASSIFIER)]
    stated = meta["License"].strip().splitlines() if "License" in meta else []
    return ", ".join(named) or (stated[0] if stated else "see the package")


def build_notice() -> str:
    """Return the text of NOTICE."""
    own = distribution("muniment")
    packages = list_packages("muniment", frozenset(own.metadata.get_all("Provides-Extra", ())))
    return _HEAD + "".join(f"{name}: {describe_licence(packages[name])}\n" for name in sorted(packages))


if __name__ == "__main__":
    NOTICE.write_text(build_notice(), encoding="utf-8")
