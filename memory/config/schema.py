"""The parts of the settings, as config/memory.yaml has them."""

from __future__ import annotations

from typing import Annotated, Literal, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from muniment.memory.domain.layers.observation import ObservationType

Count: TypeAlias = Annotated[int, Field(ge=1, le=1_000_000_000)]  # what an integer of Postgres holds
Amount: TypeAlias = Annotated[int, Field(ge=0, le=1_000_000_000)]
Share: TypeAlias = Annotated[float, Field(ge=0, le=1)]
Positive: TypeAlias = Annotated[float, Field(gt=0, le=1_000_000_000)]
# A thousand years: what is so far before or after now is still in the calendar.
MAX_DAYS = 366_000
Days: TypeAlias = Annotated[float, Field(gt=0, le=MAX_DAYS)]
Hours: TypeAlias = Annotated[float, Field(gt=0, le=24 * MAX_DAYS)]
Minutes: TypeAlias = Annotated[float, Field(gt=0, le=1_440 * MAX_DAYS)]
Seconds: TypeAlias = Annotated[float, Field(ge=0.001, le=86_400 * MAX_DAYS)]  # below a microsecond it would be none
WholeDays: TypeAlias = Annotated[int, Field(ge=1, le=MAX_DAYS)]
Writing: TypeAlias = Literal[
    "en", "de", "fr", "es", "pt", "it", "nl", "latin", "han", "kana", "hangul", "cyrillic", "other", "mixed"
]
# Countries whose national ids redaction knows.
Country: TypeAlias = Literal[
    "ar", "at", "au", "be", "bg", "br", "ca", "ch", "cl", "cn", "cz", "de", "dk", "ee", "es",
    "fi", "fr", "gb", "gr", "hr", "id", "ie", "il", "in", "is", "it", "jp", "kr", "lt", "mx",
    "my", "nl", "no", "nz", "pl", "pt", "ro", "ru", "se", "si", "sk", "th", "tr", "ua", "us",
    "za",
]  # fmt: skip
Texts: TypeAlias = Annotated[tuple[str, ...], Field(strict=False)]  # YAML has lists, frozen models have tuples


class SettingsPart(BaseModel):
    """A part of the settings: frozen, and an unknown key or a value of another type is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class Category(SettingsPart):
    """A category: `all` = always in context, `rag` = retrieved, at most `rag_length` items.

    A query is limited by its `top_k` and its budget alone."""

    label: Annotated[str, Field(min_length=1)]
    context: Literal["all", "rag"]
    rag_length: Count | None = None


class Limits(SettingsPart):
    """What is refused (`turn_chars`, `top_k`) or cut (`query_chars`, `profile_items`), in characters and items, and how
    long a long text is read (`reading_seconds`, of processor time)."""

    turn_chars: Count
    memory_chars: Count
    query_chars: Count
    top_k: Count
    profile_items: Count
    reading_seconds: Seconds


class DeltaHeader(SettingsPart):
    """The delta header: at most `bullets` changes, and how far back a thread that never looked sees."""

    bullets: Annotated[int, Field(ge=0, le=3)]
    lookback_hours: Annotated[float, Field(ge=0, le=24 * MAX_DAYS)]


class WritingSettings(SettingsPart):
    """How a statement is merged: neighbours looked at, attempts after a `Conflict`, days until a soft delete is final,
    and how many memories one turn, and one user in a day (UTC), may make or change."""

    neighbours: Count
    attempts: Count
    fallback_days: WholeDays
    fallback_neighbours: Count
    link_min: Share
    contradictions: Literal["supersede", "keep"]
    per_turn: Count
    per_day: Count
    soft_delete_days: Annotated[int, Field(ge=0, le=MAX_DAYS)]


class CosineBands(SettingsPart):
    """What a cosine means: the bands' lower edges, what counts as 0 and 1 in ranking, and the least of a relation."""

    auto: Share
    check: Share
    fallback: Share
    floor: Share
    ceiling: Share
    link: Share = 0.0

    def find_disorder(self) -> tuple[str, str, str] | None:
        """Return the first two keys, the lower one first, that are not in order, and what is allowed; else None."""
        values = self.model_dump()
        for high, sign, low in (("auto", ">=", "check"), ("check", ">=", "fallback"), ("ceiling", ">", "floor")):
            if values[high] < values[low] or (sign == ">" and values[high] == values[low]):
                problem = f"allowed: {high} {sign} {low}, but they are {values[high]} and {values[low]}"
                return low, high, problem
        return None


class EmbedderProfile(CosineBands):
    """What a cosine of one embedding model means, and what the model knows.

    It may mean something else in another writing than English: in a language of Latin letters, in another script, or
    between texts of two writings (`mixed`). `scripts` are those whose texts it tells apart. `reads` are the writings
    whose meaning it knows; none are named for a model that is not known to lack any."""

    scripts: Annotated[tuple[Literal["latin", "cjk"], ...], Field(strict=False, min_length=1)]
    reads: Annotated[tuple[Writing, ...], Field(strict=False)] = ()
    by_writing: dict[Writing, CosineBands] = Field(default_factory=dict)

    def drop_scripts(self) -> Self:
        """Return the profile of an embedder that reads no text, so that texts are compared by their words."""
        return self.model_copy(update={"scripts": ()})


class RedactionSettings(SettingsPart):
    """What leaves a text besides secrets (`national_ids` are countries, `patterns` regular expressions), and what is
    not taken in at all: turns with such a tag, of such a path (shell patterns), of such a project."""

    email: bool
    phone: bool
    national_ids: Annotated[tuple[Country, ...], Field(strict=False)]
    door_codes: bool
    patterns: Texts
    deny_tags: Texts
    deny_paths: Texts
    deny_projects: Texts


class ModelLimits(SettingsPart):
    """How a model is asked: how long and how often, with which prompts, and where an operator's own prompts are."""

    prompts: Literal["full", "short"]
    prompt_folder: Annotated[str, Field(min_length=1)] | None

    timeout_seconds: Positive
    backoff_seconds: Seconds
    max_retries: Amount
    max_output_tokens: Count
    tool_schema: Literal["short", "full"]
    tool_rounds: Amount
    handoffs: Amount


class ConsentRules(SettingsPart):
    """Days a request for consent waits, days after a no in which the same value is not asked about again, and the
    signals after which a benign field changes without a request."""

    days: Days
    again_days: Days
    signals: Count


class Price(SettingsPart):
    """What a model costs, in the configured currency per million tokens."""

    input: Annotated[float, Field(ge=0, le=1_000_000)]
    output: Annotated[float, Field(ge=0, le=1_000_000)]


class Spending(SettingsPart):
    """A tenant's budget of a day (UTC), None for no limit, and the prices by model; with money a limit, each model
    needs one."""

    daily_tokens: Annotated[int, Field(ge=1, le=10**15)] | None
    daily_money: Annotated[float, Field(gt=0, le=1_000_000_000)] | None
    currency: Annotated[str, Field(min_length=1)]
    prices: dict[str, Price]

    @property
    def has_own_budget(self) -> bool:
        """Whether a budget was set: by the file of MUNIMENT_CONFIG or in code, not only by the default."""
        has_own_tokens = self.daily_tokens is not None and "daily_tokens" in self.model_fields_set
        return has_own_tokens or self.daily_money is not None


class Episodes(SettingsPart):
    """When an episode is captured: turns and minutes since the last one, how many a day, hours in which two are
    merged."""

    cooldown_turns: Amount
    cooldown_minutes: Annotated[float, Field(ge=0, le=1_440 * MAX_DAYS)]
    per_day: Amount
    merge_hours: Annotated[float, Field(ge=0, le=24 * MAX_DAYS)]


class Insights(SettingsPart):
    """How insights are made: hours between two looks, and the most memories and characters that one looks at."""

    every_hours: Hours
    activities: Count
    facts: Count
    snippet_chars: Count


class Consolidation(SettingsPart):
    """The nightly look at pairs of memories: hours between two looks at a space, pairs of a user and day, of a prompt
    and of a survey; the memories that it starts from (hours since a change, importance, share of the most retrieved),
    the days after which a memory is no partner any more, and in which no pair is checked twice; the importance from
    which a memory is never merged away, 6 for none; whether prompts go to a
    batch endpoint, what of the usual price it takes, and how many days its answers are waited for."""

    every_hours: Hours
    per_day: Amount
    per_prompt: Annotated[int, Field(ge=5, le=10)]
    pairs: Count
    pool: Count
    recent_hours: Hours
    importance_from: Annotated[int, Field(ge=1, le=5)]
    retrieved_share: Share
    partner_days: WholeDays
    fingerprint_days: WholeDays
    protect_from: Annotated[int, Field(ge=1, le=6)]
    lease_minutes: Minutes
    batch: bool
    batch_price: Share
    batch_days: Days


class Forgetting(SettingsPart):
    """What is forgotten by itself: untouched for so many days, not pinned, and of less importance than this, which
    counts one less for every `fade_days` untouched, but for the highest; `categories` have days of their own, null for
    never. What belongs to a scope that has days of its own goes after these, whatever its importance; of several, after
    the fewest: `user`, `agent`, `project`, `session`, `run`, and `user:NAME` and so on in place of these, null for
    none. Always-in-context categories are not touched."""

    untouched_days: Count
    importance_below: Annotated[int, Field(ge=1, le=6)]
    fade_days: Count
    categories: dict[str, Count | None]
    scopes: dict[str, Count | None]


class Ledger(SettingsPart):
    """How long what was said is kept word for word, in days, how often it is cleaned, how long operational events are,
    after how many minutes without a turn a session ends, and which agents may search what was said."""

    retention_days: Count
    cleanup_interval_seconds: Seconds
    run_on_startup: bool
    events_days: Count
    idle_minutes: Count
    search_agents: Texts


class ObservationSettings(SettingsPart):
    """How a session's turns are read by a model: the user's turns of one request, the earlier ones that go with them,
    the most facts of a request and paths of work of a session; and for each type the least confidence of which a
    memory is made, null where none is."""

    turns: Count
    context_turns: Annotated[int, Field(ge=0, le=20)]
    facts: Count
    candidates: Count
    types: dict[ObservationType, Share | None]


class FindGates(SettingsPart):
    """What of that which is found by itself is kept: whether the rules keep at once where a model is configured or wait
    for it, the least importance and confidence, whether a statement of its own is required, and which relations and
    events."""

    fallback: Literal["rules", "wait"]
    least_importance: Annotated[int, Field(ge=1, le=5)]
    least_confidence: Share
    canonical: Literal["preferred", "required"]
    relations: bool
    events: Literal["all", "dated", "none"]


class Procedures(SettingsPart):
    """Learned procedures: the most characters and steps of one, failures before a success that make a path worth
    keeping, which wait for a review, and seconds without more work after which a path is looked for."""

    chars: Count
    steps: Count
    failures: Count
    review: Literal["none", "unwished", "all"]
    wait_seconds: Seconds


class ResourceSettings(SettingsPart):
    """How documents are taken in: characters of a statement and statements of a document, bytes of a file and
    characters of its text, and seconds and megabytes that the reading of a file may take."""

    statement_chars: Annotated[int, Field(ge=200, le=4_000)]
    statements: Annotated[int, Field(ge=1, le=50_000)]
    file_bytes: Annotated[int, Field(ge=1, le=1_000_000_000)]
    text_chars: Annotated[int, Field(ge=1, le=100_000_000)]
    reading_seconds: Seconds
    reading_megabytes: Annotated[int, Field(ge=256, le=1_000_000)]
