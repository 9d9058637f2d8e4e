"""What takes nothing in, what is raw, how much is shown, and which policy a session has (P-44, P-45, P-77..P-87)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import given, strategies as st

from muniment.memory.config.plugin import PluginSettings
from muniment.memory.config.schema import RedactionSettings
from muniment.memory.config.settings import load_settings
from muniment.memory.errors import BadConfig
from muniment.memory.rules.redaction.redact import Redactor
from muniment.plugin.domain.item import MemoryHit, MemoryItem
from muniment.plugin.domain.policy import choose_policy, draw_share, resolve_gates
from muniment.plugin.gates.budget import LOW_SCORE, OVER_ITEMS, OVER_TOKENS, pack_hits
from muniment.plugin.gates.privacy import OPEN, REDACTED, VERBATIM, decide_content, decide_source
from tests.plugin_gates.gate_settings import GATES, PLUGIN, change_gates

NOON = datetime(2026, 11, 12, 12, tzinfo=UTC)
REDACTION: RedactionSettings = load_settings({"HOME": "/nonexistent"}).redact
DENYING = REDACTION.model_copy(
    update={"deny_tags": ("private",), "deny_paths": ("*/secrets/*",), "deny_projects": ("acme",)}
)


_STORY = (
    "the deploy went out on a Friday evening and then the pager rang all through the night until somebody at last "
    "found the switch that had been thrown the wrong way round"
)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ({}, OPEN),
        ({"tags": ("work",), "path": "src/a.py", "project": "other"}, OPEN),
        ({"tags": ("#Private",)}, "denied tag"),
        ({"path": "repo/secrets/key.txt"}, "denied path"),
        ({"project": "ACME"}, "denied project"),
    ],
)
def test_denied_sources_take_nothing(source: dict[str, object], reason: str) -> None:
    """P-44, P-87: by tag, path and project, as the denylist of the settings has them."""
    decision = decide_source(DENYING, **source)  # type: ignore[arg-type] # a table of arguments
    assert (decision.allowed, decision.reason) == (reason == OPEN, reason)


@pytest.mark.parametrize(
    ("content", "message", "reason"),
    [
        ("The user prefers pnpm", "I prefer pnpm over anything else.", OPEN),
        ("The user wants the assistant to use pnpm", "use pnpm", OPEN),
        ('The user said: "We use four spaces here"', "Hello. We use four spaces here.", VERBATIM),
        ("note: my cat is ill", "my cat is ill", VERBATIM),
        ("用户说：我今天很累", "我今天很累", VERBATIM),
        (
            f"The user states: {_STORY}",
            f"Listen: {_STORY.upper()}!",
            VERBATIM,
        ),
        (
            "The user's rule: the API stays compatible with clients from before March",
            "the api stays  compatible with clients from before march!",
            OPEN,
        ),
    ],
)
def test_raw_words_are_refused(content: str, message: str, reason: str) -> None:
    """P-7, P-85: a sentence with its speaker in it, or a long one, whatever its case and blanks; a rule is itself."""
    assert decide_content(content, ["something else", message]).reason == reason


_WORDS = " ".join(f"w{n}" for n in range(30))


@pytest.mark.parametrize(
    ("content", "message", "reason"),
    [
        # A run of words, by its length and by whole words.
        (" ".join(_WORDS.split()[:24]), _WORDS, OPEN),
        (" ".join(_WORDS.split()[:25]), _WORDS, VERBATIM),
        (" ".join(_WORDS.split()[-25:]), _WORDS, VERBATIM),
        (f"Noted: {' '.join(_WORDS.split()[:25])}", _WORDS, VERBATIM),
        (f"{' '.join(_WORDS.split()[:25])} and more", _WORDS, VERBATIM),
        (f"{' '.join(_WORDS.split()[:24])} w2", f"{' '.join(_WORDS.split()[:24])} w24", OPEN),
        # The same telling with others in the place of its persons.
        (
            f"The user {' '.join(_WORDS.split()[:12])} the team {' '.join(_WORDS.split()[12:25])}",
            f"I {' '.join(_WORDS.split()[:12])} we {' '.join(_WORDS.split()[12:25])}",
            VERBATIM,
        ),
        # A sentence with its speaker, by its length, by whole words, and wherever it ends.
        ("The user said: I quit", "I quit", VERBATIM),
        ("The user said: I", "I", OPEN),
        ("tommy cat is illegal", "my cat is ill", OPEN),
        ("Noted: my cat is ill", "Well…my cat is ill！So what", VERBATIM),
        ("Noted: my cat is ill", "a list\nmy cat is ill\nand more", VERBATIM),
        ("The cat is ill", "The cat is ill", OPEN),
    ],
)
def test_what_is_raw_by_its_bounds(content: str, message: str, reason: str) -> None:
    """P-7, P-85."""
    assert decide_content(content, [message]).reason == reason
    assert decide_content(content, [message]).allowed == (reason == OPEN)
    assert decide_content(content, []).allowed


def test_statement_about_a_secret_is_refused() -> None:
    """P-86: what redaction has taken a secret out of says nothing."""
    content = str(Redactor(REDACTION).sanitize_text("The user's password is hunter2hunter2"))
    assert "hunter2" not in content
    assert decide_content(content, []).reason == REDACTED
    assert not decide_content(content, []).allowed


def make_hit(number: int, score: float, *, pinned: bool = False, words: int = 5) -> MemoryHit:
    """A hit of so many words."""
    item = MemoryItem(
        id=str(UUID(int=number)),
        tenant_id="t",
        user_id="u",
        type="fact",
        content="word " * words,
        created_at=NOON,
        pinned=pinned,
    )
    return MemoryHit(item=item, score=score, parts={}, store="local")


def render(hits: Sequence[MemoryHit]) -> str:
    """A block with its fence."""
    return "\n".join(["<memory>", *(hit.item.content for hit in hits), "</memory>"]) if hits else ""


def count_words(text: str) -> int:
    """A count that is easy to follow."""
    return len(text.split())


def test_hits_are_packed_by_score_number_and_tokens() -> None:
    """P-45, P-77, P-78, P-79: each refusal is told; what is too long does not end the packing."""
    gates = change_gates(items=3, tokens=20)
    ranked = [make_hit(1, 0.9), make_hit(2, 0.8, words=50), make_hit(3, 0.7), make_hit(4, 0.6), make_hit(5, 0.5)]
    packed = pack_hits([*ranked, make_hit(6, 0.19)], gates, render, count_words)
    assert [hit.score for hit in packed.hits] == [0.9, 0.7, 0.6]
    assert packed.tokens == 17
    ids = [str(UUID(int=number)) for number in (2, 5, 6)]
    assert packed.refused == tuple(zip(ids, (OVER_TOKENS, OVER_ITEMS, LOW_SCORE), strict=True))


def test_the_bounds_themselves_are_within_them() -> None:
    """P-77..P-79: what has just the least score, and what fills the cap to its last token, is shown; one token more is
    not."""
    assert GATES.min_score == 0.2
    hits = [make_hit(1, 0.2), make_hit(2, 0.2)]
    tokens = count_words(render(hits))
    exact = pack_hits(hits, change_gates(tokens=tokens), render, count_words)
    assert (exact.hits, exact.tokens, exact.refused) == (tuple(hits), tokens, ())
    below = pack_hits(hits, change_gates(tokens=tokens - 1), render, count_words)
    assert below.refused == ((hits[1].item.id, OVER_TOKENS),)
    assert below.tokens == count_words(render(hits[:1]))


def test_hits_keep_the_order_in_which_they_came() -> None:
    """P-21, P-45: the pinned ones and the others each as they were ranked, whatever their scores."""
    ranked = [make_hit(n, score, pinned=n in (2, 4)) for n, score in enumerate((0.5, 0.3, 0.9, 0.6), 1)]
    packed = pack_hits(ranked, GATES, render, count_words)
    assert [hit.item.id for hit in packed.hits] == [ranked[n].item.id for n in (1, 3, 0, 2)]


def test_pinned_items_come_first_and_need_no_score() -> None:
    """P-21, P-45: and they count for the number and the tokens as others do."""
    packed = pack_hits([make_hit(1, 0.9), make_hit(2, 0.0, pinned=True)], GATES, render, count_words)
    assert [hit.item.pinned for hit in packed.hits] == [True, False]


@given(
    scores=st.lists(st.floats(0, 1), max_size=20),
    pins=st.sets(st.integers(0, 19)),
    items=st.integers(3, 8),
    tokens=st.integers(1, 80),
)
def test_budget_is_never_passed(scores: list[float], pins: set[int], items: int, tokens: int) -> None:
    """P-77, P-78: whatever was found, and every hit is either shown or refused."""
    gates = change_gates(items=items, tokens=tokens)
    ranked = [make_hit(n, score, pinned=n in pins) for n, score in enumerate(sorted(scores, reverse=True))]
    packed = pack_hits(ranked, gates, render, count_words)
    assert len(packed.hits) <= items
    assert packed.tokens == count_words(render(packed.hits)) <= tokens
    assert len(packed.hits) + len(packed.refused) == len(ranked)


def make_plugin(**changes: object) -> PluginSettings:
    """The shipped settings with changes."""
    return PluginSettings.model_validate(PLUGIN.model_dump() | changes)


def test_session_has_one_policy_by_a_stable_share() -> None:
    """P-33, P-118: the share is met, the choice is the same each time, and the shadow is passed on."""
    settings = make_plugin(
        policies={"eager": {"min_score": 0.1, "items": 5.0}}, other_policy="eager", other_share=0.3, shadow=True
    )
    chosen = [choose_policy(f"session {n}", settings) for n in range(2_000)]
    assert chosen == [choose_policy(f"session {n}", settings) for n in range(2_000)]
    eager = [policy for policy in chosen if policy.name == "eager"]
    assert 0.26 < len(eager) / len(chosen) < 0.34
    assert (eager[0].gates.min_score, eager[0].gates.items, eager[0].is_shadow) == (0.1, 5, True)
    assert replace(chosen[0], name="default", gates=GATES) == replace(eager[0], name="default", gates=GATES)
    assert draw_share("session 1") == pytest.approx(draw_share("session 1"))


@pytest.mark.parametrize(
    ("policies", "name", "key"),
    [
        ({}, "eager", "plugin.policies"),
        ({"eager": {"items": 9.0}}, "eager", "plugin.policies.eager.items"),
        ({"eager": {"itmes": 5.0}}, "eager", "plugin.policies.eager.itmes"),
    ],
)
def test_wrong_policy_names_its_key(policies: dict[str, dict[str, float]], name: str, key: str) -> None:
    """P-33: an unknown name, a value out of bounds, a field that does not exist."""
    with pytest.raises(BadConfig) as caught:
        resolve_gates(name, make_plugin(policies=policies))
    assert caught.value.data["key"] == key
