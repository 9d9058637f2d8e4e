"""What is not taken in at all."""

from __future__ import annotations

from typing import Any

import pytest

from muniment.memory.config.settings import load_settings
from muniment.memory.rules.redaction.redact import find_denial

RULES = load_settings({}).redact.model_copy(
    update={"deny_tags": ("private", "#Health"), "deny_paths": ("*/secrets/*", "*.pem"), "deny_projects": ("Falcon",)}
)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"tags": ["a", "Private"]}, "denied tag"),
        ({"tags": ("#health",)}, "denied tag"),
        ({"path": "home/ana/secrets/plan.md"}, "denied path"),
        ({"path": "C:\\Ana\\Secrets\\plan.md"}, "denied path"),
        ({"path": "key.PEM"}, "denied path"),
        ({"project": "falcon "}, "denied project"),
        ({"tags": ["privately"]}, None),
        ({"path": "home/ana/secret/plan.md"}, None),
        ({"project": "falconry"}, None),
        ({"tags": [], "path": None, "project": None}, None),
    ],
)
def test_by_tag_path_and_project(given: dict[str, Any], reason: str | None) -> None:
    """Case, a leading # and the kind of slash do not count; a name that only begins so is another."""
    assert find_denial(RULES, **given) == reason
    assert find_denial(load_settings({}).redact, **given) is None
