"""`memory.query`, and why a memory is not in its answer."""

from __future__ import annotations

from fastapi import APIRouter, Response

from muniment.faces.http.access import Caller, Reader
from muniment.faces.http.answers import ExplanationAnswer, QueryAnswer
from muniment.faces.http.bodies import QueryBody, StrictRoute, WhyNotBody
from muniment.faces.http.errors import ERROR_RESPONSES, make_response
from muniment.memory.domain.query import Query
from muniment.memory.errors import NotFound
from muniment.memory.payload import encode_answer, encode_explanation, parse_agent_query

router = APIRouter(prefix="/memory", tags=["query"], route_class=StrictRoute, responses=ERROR_RESPONSES)


@router.post("/query", response_model=QueryAnswer)
async def query_memory(body: QueryBody, caller: Reader) -> Response:
    """Return the best memories within the agent's allowlist."""
    agent, query = _parse_query(body, caller)
    answer = await caller.service.memory.query(caller.scope, agent, query)
    return make_response(encode_answer(answer, explain=query.explain))


@router.post("/why-not", response_model=ExplanationAnswer)
async def explain_absence(body: WhyNotBody, caller: Reader) -> Response:
    """Return the first reason that keeps a memory out of the answer to a query."""
    agent, query = _parse_query(body, caller)
    memory_id = await caller.find_id(body.memory_id)
    verdict = await caller.service.memory.why_not(caller.scope, agent, memory_id, query)
    if verdict.reason == "other space or unknown":
        raise NotFound
    return make_response(encode_explanation(verdict))


def _parse_query(body: QueryBody, caller: Caller) -> tuple[str, Query]:
    """Return the agent and the query of a body. Raises BadInput, Denied."""
    agent = caller.choose_agent(body.agent)
    given = body.model_dump(by_alias=True, exclude_unset=True, exclude={"memory_id"})
    return agent, parse_agent_query(caller.service.settings, agent, given)
