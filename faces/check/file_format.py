"""The format of a check file, version 1: cases with what is given and what is expected."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import BeforeValidator, Discriminator, Field, Tag, WithJsonSchema, model_validator
from pydantic.json_schema import GenerateJsonSchema

from muniment.faces.check.words import CheckPart, FoundWords, MemoryWords, Words
from muniment.memory.domain.ids import Revision
from muniment.memory.errors import BadInput
from muniment.memory.query_codec import FILTER_KINDS, parse_as_of, parse_time

FORMAT_VERSION = 1
SCHEMA_ID = "https://muniment.invalid/schemas/check-1.json"
DEFAULT_AGENT = "supervisor"
_ANSWER_ASSERTIONS = ("has", "lacks", "silent", "within_tokens", "denied")
_ROLES = ("user", "assistant", "maintain")


def _read_time(value: Any) -> datetime:
    try:
        return parse_time(value.isoformat() if isinstance(value, date) else value, "time")
    except BadInput as error:
        raise ValueError(str(error).removeprefix("time: ")) from None


def _read_as_of(value: Any) -> Revision | datetime:
    try:
        return parse_as_of(value.isoformat() if isinstance(value, date) else value)
    except BadInput as error:
        raise ValueError(str(error).removeprefix("as_of: ")) from None


def _to_json(value: Any) -> Any:
    """A value of YAML as JSON has it: a date is its text."""
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {key: _to_json(each) for key, each in value.items()}
    return [*map(_to_json, value)] if isinstance(value, list) else value


def _to_tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _wrap_single(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else (value,)


def _read_row(value: Any) -> Any:
    return {"text": value} if isinstance(value, str) else _to_json(value)


_TIME_SCHEMA = {"type": "string", "description": "An ISO date or time; without a zone it is UTC."}
Time: TypeAlias = Annotated[datetime, BeforeValidator(_read_time), WithJsonSchema(_TIME_SCHEMA)]
AsOf: TypeAlias = Annotated[
    Revision | datetime,
    BeforeValidator(_read_as_of),
    WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 0}, _TIME_SCHEMA]}),
]
Text: TypeAlias = Annotated[str, Field(min_length=1)]
Count: TypeAlias = Annotated[int, Field(ge=1, le=1_000_000)]
Amount: TypeAlias = Annotated[int, Field(ge=0, le=1_000_000_000)]
Milliseconds: TypeAlias = Annotated[float, Field(gt=0, le=1_000_000_000)]
Money: TypeAlias = Annotated[float, Field(ge=0, le=1_000_000_000)]
Names: TypeAlias = Annotated[tuple[Text, ...], BeforeValidator(_to_tuple)]
Found: TypeAlias = Annotated[tuple[FoundWords, ...], BeforeValidator(_wrap_single), Field(min_length=1)]
Lacking: TypeAlias = Annotated[tuple[MemoryWords, ...], BeforeValidator(_wrap_single), Field(min_length=1)]
_ROW_SCHEMA = {"anyOf": [{"type": "string", "minLength": 1}, {"type": "object", "required": ["text"]}]}
Row: TypeAlias = Annotated[dict[str, Any], BeforeValidator(_read_row), WithJsonSchema(_ROW_SCHEMA)]
_FILTERS_SCHEMA = {"type": "object", "propertyNames": {"enum": [*FILTER_KINDS]}}
FilterValues: TypeAlias = Annotated[dict[str, Any], BeforeValidator(_to_json), WithJsonSchema(_FILTERS_SCHEMA)]


class Step(CheckPart):
    """One step of a conversation: what the user or the assistant says, or the maintenance that runs at night."""

    user: Text | None = None
    assistant: Text | None = None
    maintain: Literal[True] | None = None
    at: Time | None = None  # else a minute after the step before
    session: Text | None = None

    @model_validator(mode="after")
    def _check_role(self) -> Self:
        if sum(getattr(self, role) is not None for role in _ROLES) != 1:
            raise ValueError(f"allowed: one of {', '.join(_ROLES)}")
        return self


class GivenSpace(CheckPart):
    """A space that is read as it is, or as it was at a revision or a time. Nothing is written to it."""

    user: Text
    as_of: AsOf | None = None


class Given(CheckPart):
    """What a case begins with: memories and turns in an empty space, an export in one, or a space that there is."""

    memories: Annotated[tuple[Row, ...], BeforeValidator(_to_tuple)] = ()
    turns: Annotated[tuple[Step, ...], BeforeValidator(_to_tuple)] = ()
    export: Text | None = None  # path of a file of `muniment export`, beside the check file
    space: GivenSpace | None = None

    @model_validator(mode="after")
    def _check_kinds(self) -> Self:
        if self.space is not None and (self.memories or self.turns or self.export is not None):
            raise ValueError("space is only read; allowed: nothing beside it")
        if self.export is not None and self.memories:
            raise ValueError("an export wants an empty space; allowed: turns beside it")
        return self


class Expectation(CheckPart):
    """What is asserted. The name is for reports, and what it says by default is what is asserted."""

    name: Text | None = None


class Remembers(Expectation):
    """An active memory has these words; with `times` exactly so many have."""

    remembers: MemoryWords
    times: Count | None = None


class Forgets(Expectation):
    """A memory with these words was there, and none is active any more."""

    forgets: MemoryWords


class Ignores(Expectation):
    """Nothing with these words was ever kept: no memory in any state, no former version, no request for consent."""

    ignores: Words


class Succession(CheckPart):
    """What a memory said before, and what it, or the memory in its place, says."""

    was: Words
    by: Words


class Supersedes(Expectation):
    """The memory that said `was` says `by`, or one that says `by` has taken its place; none says `was` any more."""

    supersedes: Succession


class AsksConsent(Expectation):
    """A request for consent waits whose field and value, written `city: Porto`, have these words."""

    asks_consent: Words


class Quarantines(Expectation):
    """A memory with these words is kept out of every answer until a person says yes."""

    quarantines: MemoryWords


class Finds(Expectation):
    """What an agent finds. What is not given is as for `muniment query`."""

    query: str
    agent: Text | None = None
    categories: Names = ()
    filters: FilterValues = Field(default_factory=dict)
    top_k: Count | None = None
    threshold: Annotated[float, Field(ge=0, le=1)] | None = None
    budget_tokens: Count | None = None
    profile: Text | None = None
    as_of: AsOf | None = None
    project: Text | None = None
    session: Text | None = None
    repeat: Count = 1  # how often it is asked, for times
    has: Found | None = None
    lacks: Lacking | None = None
    silent: bool | None = None  # true: the answer is empty; false: it is not
    within_tokens: Count | None = None
    denied: Literal[True] | None = None  # the agent may not ask this

    @model_validator(mode="after")
    def _check_assertions(self) -> Self:
        given = self.list_assertions()
        if not given:
            raise ValueError(f"asserts nothing; allowed: {', '.join(_ANSWER_ASSERTIONS)}")
        if self.denied and len(given) > 1:
            raise ValueError("denied is all that can be said of a query without an answer")
        if self.silent and self.has is not None:
            raise ValueError("silent and has contradict each other")
        return self

    def list_assertions(self) -> list[str]:
        """Return the names of what is asserted of the answer."""
        return [name for name in _ANSWER_ASSERTIONS if getattr(self, name) is not None]


class Limits(CheckPart):
    """Upper limits of what the case has used so far: requests to the model, their tokens and money, and times."""

    calls: Amount | None = None
    tokens: Amount | None = None
    cost: Money | None = None
    learn_p95_ms: Milliseconds | None = None
    query_p95_ms: Milliseconds | None = None

    @model_validator(mode="after")
    def _check_some(self) -> Self:
        if not self.list_limits():
            raise ValueError(f"limits nothing; allowed: {', '.join(type(self).model_fields)}")
        return self

    def list_limits(self) -> list[str]:
        """Return the names of what is limited."""
        return [name for name in type(self).model_fields if getattr(self, name) is not None]


class KeepsBudget(Expectation):
    """The case so far keeps to these limits."""

    budget: Limits


EXPECTATIONS: Mapping[str, type[Expectation]] = {
    "remembers": Remembers,
    "forgets": Forgets,
    "ignores": Ignores,
    "supersedes": Supersedes,
    "asks_consent": AsksConsent,
    "quarantines": Quarantines,
    "query": Finds,
    "budget": KeepsBudget,
}


def _find_tag(value: Any) -> str | None:
    """The tag of the expectation that a mapping is, in brackets, so that it is no key of the file."""
    if isinstance(value, Expectation):
        return next(f"<{name}>" for name, kind in EXPECTATIONS.items() if isinstance(value, kind))
    return next((f"<{name}>" for name in EXPECTATIONS if isinstance(value, dict) and name in value), None)


AnyExpectation: TypeAlias = Annotated[
    Annotated[Remembers, Tag("<remembers>")]
    | Annotated[Forgets, Tag("<forgets>")]
    | Annotated[Ignores, Tag("<ignores>")]
    | Annotated[Supersedes, Tag("<supersedes>")]
    | Annotated[AsksConsent, Tag("<asks_consent>")]
    | Annotated[Quarantines, Tag("<quarantines>")]
    | Annotated[Finds, Tag("<query>")]
    | Annotated[KeepsBudget, Tag("<budget>")],
    Discriminator(_find_tag),
]


class Case(CheckPart):
    """A case: what is given, the time at which it is looked at, who asks where, and what is expected."""

    name: Text
    now: Time | None = None  # else a minute after the last step
    agent: Text | None = None
    project: Text | None = None
    given: Given = Given()
    expect: Annotated[tuple[AnyExpectation, ...], BeforeValidator(_to_tuple), Field(min_length=1)]

    @model_validator(mode="after")
    def _check_now(self) -> Self:
        times = [step.at for step in self.given.turns if step.at is not None]
        if self.now is not None and times and self.now < max(times):
            raise ValueError("now is before a turn that is given")
        return self


class CheckContent(CheckPart):
    """A check file."""

    muniment_check: Literal[1]
    name: Text | None = None
    agent: Text = DEFAULT_AGENT
    cases: Annotated[tuple[Case, ...], BeforeValidator(_to_tuple), Field(min_length=1)]

    @model_validator(mode="after")
    def _check_names(self) -> Self:
        numbers: dict[str, int] = {}
        for number, case in enumerate(self.cases, 1):
            if (first := numbers.setdefault(case.name, number)) != number:
                raise ValueError(f"cases {first} and {number} have the same name")
        return self


class _Schema(GenerateJsonSchema):
    """A schema in which a list of words may also be one of them."""

    def tuple_schema(self, schema: Any) -> dict[str, Any]:
        found = super().tuple_schema(schema)
        items = found.get("items", {})
        is_words = isinstance(items, dict) and "Words" in str(items.get("$ref", items))
        return {"anyOf": [items, found]} if is_words else found


def build_schema() -> dict[str, Any]:
    """Return the JSON Schema of a check file."""
    schema = _tidy_schema(CheckContent.model_json_schema(schema_generator=_Schema))
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": SCHEMA_ID, **schema}


def _tidy_schema(schema: Any) -> Any:
    """A schema without the titles that only repeat names, and with the least length of a list under its own name."""
    if isinstance(schema, list):
        return [*map(_tidy_schema, schema)]
    if not isinstance(schema, dict):
        return schema
    tidy = {key: _tidy_schema(each) for key, each in schema.items() if key != "title" or not isinstance(each, str)}
    is_list = tidy.get("type") == "array" or any(each.get("type") == "array" for each in tidy.get("anyOf", ()))
    if is_list and "minLength" in tidy:
        tidy["minItems"] = tidy.pop("minLength")
    return tidy
