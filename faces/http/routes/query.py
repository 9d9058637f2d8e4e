"""`memory.query`, and why a memory is not in its answer."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response

from muniment.faces.http.access import Caller, Reader
from muniment.faces.http.answers import ExplanationAnswer, QueryAnswer
from muniment.faces.http.bodies import MAX_COUNT, Name, QueryBody, StrictRoute, WhyNotBody
from muniment.faces.http.errors import ERROR_RESPONSES, make_response
from muniment.memory.domain import query as queries
from muniment.memory.errors import NotFound
from muniment.memory.payload import encode_answer, encode_explanation, parse_agent_query

router = APIRouter(tags=["query"], route_class=StrictRoute, responses=ERROR_RESPONSES)


@router.post("/memory/query", response_model=QueryAnswer)
async def query_memory(body: QueryBody, caller: Reader) -> Response:
    """Return the best memories within the agent's allowlist."""
    agent, query = _parse_query(body, caller)
    scope = caller.make_scope(app=body.app, session=body.session)
    answer = await caller.service.memory.query(scope, agent, query)
    return make_response(encode_answer(answer, explain=query.explain))


@router.get("/v1/user-memory/search", response_model=QueryAnswer)
async def search_user_memory(
    caller: Reader,
    query: Annotated[str, Query(description="The question.")],
    agent: Annotated[Name | None, Query(description="Who asks; may be left out where the token has one agent.")] = None,
    category: Annotated[list[Name] | None, Query(max_length=100)] = None,
    top_k: Annotated[int | None, Query(ge=1, le=MAX_COUNT)] = None,
    budget_tokens: Annotated[int | None, Query(ge=1, le=MAX_COUNT)] = None,
    threshold: Annotated[float | None, Query(ge=0, le=1)] = None,
    returns: Annotated[Literal["bullets", "full"] | None, Query(alias="return")] = None,
    explain: bool = False,
    as_of: Annotated[str | None, Query(description="A revision, or an ISO date or time.")] = None,
    session: Name | None = None,
) -> Response:
    """Return the best memories within the agent's allowlist: what `POST /memory/query` answers, in the same order."""
    given: dict[str, Any] = {
        "categories": category,
        "top_k": top_k,
        "budget_tokens": budget_tokens,
        "threshold": threshold,
    }
    given |= {"return": returns, "as_of": as_of, "agent": agent, "session": session}
    named = {name: value for name, value in given.items() if value is not None}
    return await query_memory(QueryBody.model_validate({"query": query, "explain": explain, **named}), caller)


@router.post("/memory/why-not", response_model=ExplanationAnswer)
async def explain_absence(body: WhyNotBody, caller: Reader) -> Response:
    """Return the first reason that keeps a memory out of the answer to a query."""
    agent, query = _parse_query(body, caller)
    memory_id = await caller.find_id(body.memory_id)
    scope = caller.make_scope(app=body.app, session=body.session)
    verdict = await caller.service.memory.why_not(scope, agent, memory_id, query)
    if verdict.reason == "other space or unknown":
        raise NotFound
    return make_response(encode_explanation(verdict))


def _parse_query(body: QueryBody, caller: Caller) -> tuple[str, queries.Query]:
    """Return the agent and the query of a body. Raises BadInput, Denied."""
    agent = caller.choose_agent(body.agent)
    given = body.model_dump(by_alias=True, exclude_unset=True, exclude={"memory_id", "app", "session"})
    return agent, parse_agent_query(caller.service.settings, agent, given)
