"""The bodies of requests, as OpenAPI shows them."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict, Field

from muniment.faces.http.strict_json import parse_json
from muniment.memory import codec
from muniment.memory.domain.layers.bisection import MOST_RUNS
from muniment.memory.domain.memory import FactKind, Reach, Role
from muniment.memory.domain.turn import TurnKind
from muniment.memory.errors import BadInput

_MAX_POSITION = 2**31 - 1  # of a turn in its session
Text = Annotated[str, Field(min_length=1)]
Name = Annotated[str, Field(min_length=1, max_length=200)]
Aliases = Annotated[list[str], Field(max_length=16)]
MAX_COUNT = 2**31 - 1


class _StrictRequest(Request):
    """A request whose JSON is read by `parse_json`, once."""

    async def json(self) -> Any:
        """Return the body, without which it is null. Raises BadInput."""
        if not hasattr(self, "_json"):
            raw = await self.body()
            try:
                self._json = parse_json(raw) if raw else None
            except BadInput as error:
                raise BadInput(f"{'body.' if ': ' in str(error) else 'body: '}{error}") from None
        return self._json


class StrictRoute(APIRoute):
    """A route whose endpoint gets the body by the rules of `_StrictRequest`, and no parameters but its own: one that is
    misspelled would narrow nothing. What anybody may ask, such as a probe, takes all."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler of the route."""
        handle, names = super().get_route_handler(), frozenset(_list_parameters(self.dependant))
        is_open = not self.dependant.dependencies

        async def handle_strictly(request: Request) -> Response:
            given = request.query_params.multi_items()
            if not codec.is_storable([*request.path_params.values(), *(text for pair in given for text in pair)]):
                raise BadInput("a parameter has a NUL or half a character")
            if not is_open and any(name not in names for name, _ in given):
                raise BadInput(f"a parameter is not known; allowed: {', '.join(sorted(names)) or 'none'}")
            strict = _StrictRequest(request.scope, request.receive)
            if self.body_field is not None:
                await strict.json()  # here, because FastAPI makes 400 of what it raises
            return await handle(strict)

        return handle_strictly


def _list_parameters(dependant: Dependant) -> Iterator[str]:
    """Yield the names of the query parameters of an endpoint and of what it depends on."""
    yield from (field.alias for field in dependant.query_params)
    for each in dependant.dependencies:
        yield from _list_parameters(each)


class Body(BaseModel):
    """A body that has no other fields than its own."""

    model_config = ConfigDict(extra="forbid")


class PlacedBody(Body):
    """Where a request is made: what is found in a session alone is found there."""

    app: Name | None = Field(None, description="The app through which it comes.")
    session: Name | None = None


class FilterBody(Body):
    """What narrows an answer. Null narrows nothing."""

    user_id: str | None = None
    agent_id: str | None = None
    run_id: str | None = None
    actor_id: str | None = None
    role: str | None = None
    category: str | None = None
    pinned: bool | None = None
    importance_min: Annotated[int | None, Field(ge=1, le=5)] = None
    importance_max: Annotated[int | None, Field(ge=1, le=5)] = None
    updated_after: str | None = Field(None, description="An ISO date or time; without a zone in UTC.")
    updated_before: str | None = Field(None, description="As updated_after.")
    session_id: str | None = None
    project_id: str | None = None
    app_id: str | None = None
    reach: Reach | None = None
    source: str | None = None
    event_after: str | None = Field(None, description="As updated_after, of when it happened or was so.")
    event_before: str | None = Field(None, description="As updated_after, of when it happened or was so.")
    fact_kind: FactKind | None = None
    predicate: str | None = None
    person: str | None = Field(None, description="Named in the fact, whatever the case; as the next three.")
    entity: str | None = None
    location: str | None = None
    topic: str | None = None


class QueryBody(PlacedBody):
    """A request of `memory.query`."""

    query: str = Field(description="The question. An empty one, and `*`, ask for what is newest.")
    agent: Name | None = Field(None, description="Who asks; may be left out where the token has one agent.")
    categories: Annotated[list[Name], Field(max_length=100)] = []
    filters: FilterBody | None = None
    top_k: Annotated[int | None, Field(ge=1, le=MAX_COUNT)] = None
    returns: Literal["bullets", "full"] | None = Field(None, alias="return")
    budget_tokens: Annotated[int | None, Field(ge=1, le=MAX_COUNT)] = None
    threshold: Annotated[float | None, Field(ge=0, le=1)] = None
    explain: bool = False
    profile: Name | None = Field(None, description="Of recall.profiles, in place of the agent's.")
    as_of: int | str | None = Field(None, description="A revision, or an ISO date or time.")


class WhyNotBody(QueryBody):
    """A query, and the memory that is not in its answer."""

    memory_id: Name


class MemoryBody(PlacedBody):
    """A text to remember."""

    text: Text
    category: Name | None = None
    aliases: Aliases = []
    reach: Reach = Field("user", description="Where it is found: everywhere, in the project or in the session alone.")
    source: Annotated[str | None, Field(min_length=1, max_length=300)] = Field(
        None, description="The name or address of what it comes from, shown with it."
    )
    expires_at: str | None = Field(None, description="An ISO date or time: from then on no answer has it.")


class PatchBody(Body):
    """What to change of a memory. What is left out stays."""

    pinned: bool | None = None
    aliases: Aliases | None = Field(None, description="Other names of what it is about, in place of those it has.")
    text: Text | None = Field(None, description="What it says from now on; the words are the user's own.")
    category: Name | None = None
    importance: Annotated[int | None, Field(ge=1, le=5)] = None
    rev: Annotated[int | None, Field(ge=0, le=2**63 - 1, description="The revision of the memory that was seen.")] = (
        None
    )


class TurnBody(Body):
    """An event of a conversation."""

    key: Name = Field(description="What tells it from the other turns of its session: the same turn is learned once.")
    role: Role = "user"
    text: Text
    at: datetime | None = None
    path: Annotated[str | None, Field(max_length=1000)] = None
    tags: Annotated[list[Name], Field(max_length=16)] = []
    kind: TurnKind | None = Field(None, description="Else message, or tool for that role. Messages alone are learned.")
    payload: dict[str, Any] | None = Field(
        None, description="What the program keeps of it; `tokens.input` and `tokens.output` are counted."
    )
    visible: bool = Field(True, description="Whether a search may find it; it never finds an audit.")


class EndBody(Body):
    """Why a session ends."""

    why: Name = "call"


class SessionBody(Body):
    """What to change of a session. What is left out stays."""

    metadata: Annotated[dict[str, Any], Field(max_length=100)] = {}
    retention_days: Annotated[int | None, Field(ge=1, le=36_500)] = Field(
        None, description="After its last turn; null: for ever."
    )


class TurnsBody(Body):
    """Turns of one session, oldest first."""

    session: Name
    thread: Name | None = None
    app: Name | None = None
    turns: Annotated[list[TurnBody], Field(min_length=1, max_length=50)]


class BisectBody(Body):
    """A question about a reply: what is looked for in it, as words or as a question to the model."""

    session: Name
    thread: Annotated[Name | None, Field(description="Where it is not that of the session's name.")] = None
    turn: Annotated[int, Field(ge=0, le=_MAX_POSITION, description="The position of the message or of its reply.")]
    expect: Annotated[str | None, Field(min_length=1, description="Its words; `*` any text, `|` alternatives.")] = None
    judge: Annotated[str | None, Field(min_length=1, description="Or a question about it, for the model.")] = None
    runs: Annotated[int, Field(ge=1, le=MOST_RUNS, description="Above 1 for a model that answers differently.")] = 1
    missing: Annotated[bool, Field(description="Which memory was not shown, and would have made it.")] = False


class DecisionBody(Body):
    """A decision on what waits for a yes."""

    ids: Annotated[list[UUID], Field(min_length=1, max_length=100)]
    approve: bool


class SettingsBody(Body):
    """Settings to change, by their keys, and those to be as the file says again."""

    values: Annotated[dict[Name, Any], Field(max_length=100)] = {}
    reset: Annotated[list[Name], Field(max_length=100)] = []
    rev: Annotated[int | None, Field(ge=0, le=2**63 - 1, description="The revision that was seen.")] = None


class CleanupBody(Body):
    """Whether to count alone."""

    dry_run: bool = True


class ReviewBody(Body):
    """What becomes of a skill that waits, is published or was rejected."""

    decision: Literal["publish", "reject"]
