"""The settings of the plugin: its store, its limits, and the gates by which it reads and writes."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from muniment.memory.config.schema import Amount, Count, Days, Positive, Seconds, SettingsPart, Share


class GateSettings(SettingsPart):
    """What the gates decide by; a policy of the settings changes any of it."""

    items: Annotated[int, Field(ge=3, le=8)]  # P-77
    tokens: Count  # P-78: of a turn, as rendered
    min_score: Share  # P-79
    cache_seconds: Annotated[float, Field(ge=120, le=300)]  # P-80
    window_turns: Annotated[int, Field(ge=3, le=5)]  # P-81
    topic_similarity: Share
    weak_score: Share  # P-82
    confidence: Share  # P-62
    duplicate_similarity: Share  # P-63
    per_turn: Amount  # P-113
    per_day: Amount
    remote_reads_per_minute: Amount
    remote_writes_per_100_turns: Amount  # P-29


class ScopeDays(SettingsPart):
    """How many days what is written is kept, by where it is found; null for ever."""

    session: Days | None
    project: Days | None
    everywhere: Days | None


class PluginSettings(SettingsPart):
    """How the plugin of a host works."""

    enabled: bool  # P-14
    store: Literal["local", "engine", "remote", "hybrid"]
    file: Annotated[str, Field(min_length=1)] | None
    url: Annotated[str, Field(min_length=1)] | None
    vectors: bool
    recall_seconds: Seconds
    remote_seconds: Seconds
    after_seconds: Seconds
    semantic_weight: Share  # P-76
    keyword_weight: Share
    recency_weight: Share
    half_life_days: Positive
    outbox: Count  # P-114
    max_items: Count
    days: ScopeDays
    gates: GateSettings
    policies: dict[str, dict[str, float]]  # by name, of `gates`
    policy: str
    other_policy: str | None
    other_share: Share
    shadow: bool  # P-118
