"""The settings of recall: how a query is answered, for everybody, by profile and by agent."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import BeforeValidator, Field, WithJsonSchema, create_model

from muniment.memory.config.schema import MAX_DAYS, Count, Positive, SettingsPart, Share, Texts
from muniment.memory.domain.query import Query
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput

_SHOWN_CHARS = 40  # of an unknown name in an error
# Owners whose spaces may be shared with others.
SharedOwner: TypeAlias = Literal["project", "agent"]


class CallerSettings(SettingsPart):
    """How the query of a caller is answered: budgets in tokens of the rendered payload, similarities and weights in
    [0, 1]. A profile overrides some of it."""

    top_k: Count
    budget_tokens: Count
    threshold: Share
    gate: Share
    gate_of_one: Share
    gate_whole_from: Count
    cut_share: Share
    list_share: Share
    cut_spread: Annotated[float, Field(ge=0, le=10)]
    cut_words: Share
    cut_from: Count
    context_bullets: Count
    context_budget_tokens: Count
    candidates: Count
    candidates_own: Count
    duplicate_similarity: Share
    semantic_weight: Share
    keyword_weight: Share
    actor_boost: Share
    period_boost: Share
    period_days_after: Annotated[float, Field(ge=0.01, le=MAX_DAYS)]
    period_days_before: Annotated[float, Field(ge=0.01, le=MAX_DAYS)]
    dated_boost: Share
    asking_penalty: Share
    name_boost: Share
    relation_weight: Share
    recency_weight: Share
    recency_half_life_days: Positive
    importance_weight: Share
    pinned_boost: Share
    insight_factor: Share
    own_boost: Share
    hint_boost: Share
    told_weight: Share
    told_among: Count
    another_penalty: Share
    others_penalty: Share
    keyword_relevance: Positive
    keyword_fallback: bool
    strange_penalty: Share


# Every field of CallerSettings, each with any default: a profile has those that are set.
_Overrides = create_model(  # type: ignore[call-overload]
    "_Overrides",
    __base__=SettingsPart,
    **{
        name: (Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation, 0)
        for name, field in CallerSettings.model_fields.items()
    },
)


def _parse_overrides(value: Any) -> dict[str, Any]:
    overrides: dict[str, Any] = _Overrides.model_validate(value).model_dump(exclude_unset=True)
    return overrides


def _describe_object(members: str) -> WithJsonSchema:
    return WithJsonSchema({"type": "object", "description": f"an object with {members}"})


class RecallSettings(CallerSettings):
    """How queries are answered: for a caller without a profile, by profile, and which agents have one; whose spaces are
    read beside the own one, and from how many memories on a space has indexes."""

    index_from: Count
    beside: Annotated[tuple[SharedOwner, ...], Field(strict=False)]
    without_tags: Annotated[
        dict[Annotated[str, Field(pattern=r"^(user|agent|project)(:.+)?$")], Texts],
        _describe_object("lists of tags by user, agent, project, or user:NAME and so on"),
    ]
    profiles: Annotated[
        dict[str, Annotated[dict[str, Any], BeforeValidator(_parse_overrides)]],
        _describe_object("settings of recall by the name of a profile"),
    ]
    agents: Annotated[dict[str, str], _describe_object("names of profiles by agent")]

    def leave_out(self, query: Query, scope: Scope) -> Query:
        """Return a query without what `without_tags` leaves out of answers for a scope."""
        keys = (scope.owner_type, f"{scope.owner_type}:{scope.owner}")
        tags = tuple(dict.fromkeys(tag for key in keys for tag in self.without_tags.get(key, ())))
        return replace(query, filters=replace(query.filters, without_tags=tags)) if tags else query

    def size_context(self, bullets: int) -> Self:
        """Return the settings for a context of so many memories, whose budget grows with them."""
        tokens = self.context_budget_tokens * max(bullets, self.context_bullets) // self.context_bullets
        return self.model_copy(update={"context_bullets": bullets, "context_budget_tokens": tokens})

    def choose_profile(self, agent: str, profile: str | None = None) -> Self:
        """Return the settings for one caller: with what the named profile overrides, without a name with what that of
        the agent does. Raises BadInput for an unknown profile."""
        name = self.agents.get(agent) if profile is None else profile
        if name is not None and name not in self.profiles:
            known = ", ".join(sorted(self.profiles)) or "none; recall.profiles has some"
            raise BadInput(f"profile: unknown profile {name[:_SHOWN_CHARS]!r}; allowed: {known}")
        overrides = self.profiles[name] if name is not None else {}
        return self.model_copy(update={**overrides, "agents": {}})
