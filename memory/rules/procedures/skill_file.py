"""A skill as a file: a `SKILL.md` with the front matter that Agent Skills have, a name and a description."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from typing import Any

_NAME_CHARS, _DESCRIPTION_CHARS = 64, 1024
_NO_NAME = re.compile(r"[^a-z0-9]+")
_MARKUP = re.compile(r"[<>\x00-\x1f\x7f]+")


def name_skill(goal: str, beside: Collection[str], spare: str) -> str:
    """Return the name of a skill by its goal: small letters, digits and hyphens, at most 64, unlike those `beside`.

    Where nothing of the goal can be in a name, or another skill has it, the `spare` tells it apart."""
    name = _NO_NAME.sub("-", goal.lower()).strip("-")[:_NAME_CHARS].rstrip("-")
    if name and name not in beside:
        return name
    return "-".join(filter(None, (name[: _NAME_CHARS - len(spare) - 1].strip("-") or "skill", spare)))


def render_skill(name: str, skill: Mapping[str, Any]) -> str:
    """Return the file of a skill under its name: front matter, steps, what failed, and where it applies.

    `skill` is the data of a projection of the type `skill_proposal`."""
    goals = [skill["goal"], *skill["also"]]
    conditions = f" Applies {skill['conditions']}." if skill["conditions"] else ""
    description = _MARKUP.sub(" ", f"How to reach: {'; '.join(goals)}.{conditions}")[:_DESCRIPTION_CHARS].strip()
    lines = ["---", f"name: {name}", f"description: {json.dumps(description, ensure_ascii=False)}", "---", ""]
    lines += [f"# {skill['goal']}", "", "## Steps", ""]
    lines += [f"{n}. {step}" for n, step in enumerate(skill["steps"], 1)]
    if skill["avoid"]:
        lines += ["", "## What failed", "", *(f"- {item}" for item in skill["avoid"])]
    if skill["conditions"]:
        lines += ["", "## Where it applies", "", skill["conditions"][:1].upper() + skill["conditions"][1:] + "."]
    return "\n".join(lines) + "\n"
