"""Each setting of a stage is changed by a test that looks at what comes of it, or is named here as one that is not."""

from __future__ import annotations

import re
from pathlib import Path

from muniment.memory.config.stages import list_settings, load_default

# Settings that no test changes but those that give every setting a good and a bad value.
UNTESTED = frozenset(
    {
        "model.backoff_seconds", "episodes.cooldown_turns", "episodes.cooldown_minutes", "episodes.merge_hours",
        "insights.snippet_chars", "observations.context_turns", "observations.types.discovery",
        "observations.types.todo", "observations.types.skill_proposal_candidate",
        "write.fallback_days", "write.fallback_neighbours", "consolidation.recent_hours",
        "consolidation.retrieved_share", "consolidation.partner_days", "consolidation.fingerprint_days",
        "consolidation.protect_from", "consolidation.batch_price", "consolidation.batch_days",
        "recall.gate_of_one", "recall.cut_spread", "recall.cut_words", "recall.cut_from",
        "recall.asking_penalty", "recall.relation_weight",
        "recall.strange_penalty", "procedures.wait_seconds",
    }
)  # fmt: skip
_OF_ALL = {"test_tested_settings.py", "setting_values.py", "test_every_setting.py", "test_stages.py"}


# A key such as recall.top_k or recall__top_k; and a field that is set, or given as an argument.
_KEY = re.compile(r"\b([a-z_]+?)(?:\.|__)(?=([a-z_]+)\b)")
_FIELD = re.compile(r"\b([a-z_]+)[\"']?[ ]?[:=](?!=)")


def test_each_has_a_test_or_is_listed() -> None:
    """A new setting comes with a test of its effect; one that gets a test leaves the list."""
    folder = Path(__file__).parents[1]
    texts = [
        each.read_text() for each in folder.rglob("*.py") if each.name not in _OF_ALL and "golden" not in each.parts
    ]
    keys = {pair for text in texts for pair in _KEY.findall(text)}
    fields = {name for text in texts for name in _FIELD.findall(text)}
    missing = set()
    for key in list_settings(load_default()):
        section, *_, leaf = key.split(".")
        if leaf not in fields and (section, leaf) not in keys:
            missing.add(key)
    assert missing == UNTESTED
