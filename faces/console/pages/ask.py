"""A question as an agent asks it: what is found and why, what is left out and why, and what a model gets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import Literal, NamedTuple, get_args

from markupsafe import Markup
from starlette.datastructures import QueryParams
from starlette.responses import Response
from starlette.routing import Route

from muniment.faces.console.areas import Area
from muniment.faces.console.questions import (
    CHOICES,
    DATES,
    FILTER,
    FILTERS,
    SECOND,
    SETTINGS,
    Question,
    choose_agent,
    has_details,
    list_agents,
    list_parameters,
    read_questions,
)
from muniment.faces.console.rendering import render_part
from muniment.faces.console.texts import Texts, load_texts
from muniment.faces.console.visits import Visit, make_page
from muniment.memory.domain.ids import Revision
from muniment.memory.domain.query import Answer, Brief, Cuts, Explanation, Hit, Omission, Reason, Returns
from muniment.memory.errors import BadInput, Denied, NotFound
from muniment.memory.payload import dump_compact, encode_answer, fence_text

# The reasons in the order of the cuts: what is relevant comes first.
_REASONS: tuple[Reason, ...] = (
    "beyond top_k", "over budget", "near-duplicate", "category full", "no more alike than the rest",
    "far below the best", "below threshold",
)  # fmt: skip
# The texts of a filter's choices; those of the others are numbers.
_GROUPS = {"pinned": "ask.pinned_is", "reach": "ask.reach", "fact_kind": "ask.fact_kind"}
_MOST_LEFT_OUT = 20  # of one reason that are shown
_LEAST_SHOWN = 0.0005  # of a part of a score, which has three digits


class Bar(NamedTuple):
    """A number as a bar. `width` is in per cent of the scale, as text, empty without a bar; `marks` are the places of
    cuts on it; `kind` is that of the row."""

    name: str
    number: str
    width: str = ""
    marks: Sequence[str] = ()
    kind: Literal["", "total", "minus"] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """What was left out for one reason: `name` is the reason as part of a key, `total` how many there are."""

    reason: Reason
    omissions: Sequence[Omission]
    total: int

    @property
    def name(self) -> str:
        """Return the reason as part of the key of a text."""
        return name_reason(self.reason)


@dataclass(frozen=True, kw_only=True)
class Side:
    """One of the answers beside each other. `places` are the places of its hits in the other one, by their ids."""

    question: Question
    answer: Answer
    cuts: Cuts
    groups: Sequence[Group]
    block: str  # as a model gets it
    brief: Brief | None
    brief_tokens: int
    milliseconds: float

    @cached_property
    def marks(self) -> tuple[str, ...]:
        """Return the cuts on the scale of relevance: the threshold, and the share of the best one."""
        best = max((hit.relevance for hit in self.answer.hits), default=0.0)
        return tuple(format_width(each) for each in (self.cuts.threshold, self.cuts.best_share * best) if 0 < each < 1)

    @property
    def is_below_gate(self) -> bool:
        """Whether nothing is relevant because not even the best one is relevant enough."""
        best = max((each.relevance for each in self.answer.omissions), default=0.0)
        return not self.answer.hits and 0 < best < self.cuts.gate

    def describe_cut(self, group: Group, texts: Texts) -> str:
        """Return the value of the cut that a group is below; empty for one that has none."""
        cuts = self.cuts
        values = {
            "beyond top_k": texts.format_number(cuts.top_k),
            "over budget": texts.format_number(cuts.budget_tokens),
            "far below the best": texts.format_percent(cuts.best_share),
            "no more alike than the rest": texts.format_number(cuts.least_cosine or 0.0, 3),
            "below threshold": texts.format_number(cuts.gate if self.is_below_gate else cuts.threshold, 3),
        }
        return values.get(group.reason, "")

    @cached_property
    def places(self) -> dict[str, int]:
        """Return the places of the hits by their ids."""
        return {str(hit.memory.id): place for place, hit in enumerate(self.answer.hits, 1)}


@dataclass(frozen=True, slots=True, kw_only=True)
class AskForm:
    """What the form offers beside the question: pairs of a value and its text for each choice."""

    agents: tuple[tuple[str, str], ...]
    second_agent: str
    profiles: tuple[tuple[str, str], ...]
    returns: tuple[tuple[str, str], ...]
    categories: tuple[str, ...]
    filters: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]  # names, and the choices of those that have any

    @classmethod
    def read(cls, visit: Visit) -> AskForm:
        """Return the form of a visit. Raises NotPermitted for an agent that the token may not be."""
        texts = visit.texts
        usual = ("", texts("ask.usual"))
        return cls(
            agents=tuple((each, each) for each in list_agents(visit)),
            second_agent=choose_agent(visit, SECOND),
            profiles=(usual, *((each, each) for each in sorted(visit.service.settings.recall.profiles))),
            returns=(usual, *((each, texts(f"ask.returns.{each}")) for each in get_args(Returns))),
            categories=tuple(sorted(visit.caller.allowed)),
            filters=_list_filters(visit.texts.language),
        )

    def render_fields(self, visit: Visit, problem: str = "", wrong: str = "") -> Markup:
        """Return the fields with what the address gives; a problem stands beside the field that it names."""
        given = visit.request.query_params
        if not wrong and not has_details(given):
            return _render_empty_fields(visit.texts.language, self)
        return render_part(
            "ask_fields.html",
            visit.texts,
            form=self,
            given=given,
            dates=DATES,
            has_settings=any(given.get(name) for name in SETTINGS),
            has_filters=any(value for name, value in given.items() if name == "category" or name.startswith(FILTER)),
            problem=problem,
            wrong=wrong,
        )


@lru_cache(maxsize=8)
def _list_filters(language: str) -> tuple[tuple[str, tuple[tuple[str, str], ...]], ...]:
    texts = load_texts(language)
    any_ = ("", texts("ask.any"))
    return tuple(
        (name, (any_, *((each, texts.name_value(_GROUPS.get(name, ""), each)) for each in CHOICES[name])))
        if name in CHOICES
        else (name, ())
        for name in FILTERS
    )


@lru_cache(maxsize=64)
def _render_empty_fields(language: str, form: AskForm) -> Markup:
    """Return the fields with nothing in them: most questions have no more than their words, and forty fields take
    longer to render than an answer."""
    shown = {"form": form, "given": QueryParams(""), "dates": DATES, "problem": "", "wrong": ""}
    return render_part("ask_fields.html", load_texts(language), has_settings=False, has_filters=False, **shown)


async def show_ask(visit: Visit) -> Response:
    """Show the form of a question, and its answer where one is asked."""
    given, why = visit.request.query_params, visit.request.query_params.get("why", "").strip()
    sides: list[Side] = []
    verdict: Explanation | None = None
    problem, status = "", 200
    try:
        questions = read_questions(visit)
        sides = [await _answer_question(visit, each) for each in questions]
        if questions and why:
            verdict = await _explain_absence(visit, questions[0], why)
    except NotFound:
        problem, status = visit.texts("ask.why_unknown"), 404
    except BadInput as error:
        problem, status = str(error), 422
    except Denied as error:
        problem, status = str(error), 403
    wrong = problem.partition(":")[0] if status == 422 else ""
    parts = [abs(part) for side in sides for hit in side.answer.hits for part in hit.parts.values()]
    return visit.render_page(
        "ask.html",
        status,
        given=given,
        is_asked="q" in given,
        agents=[(each, each) for each in list_agents(visit)],
        agent=choose_agent(visit),
        fields=AskForm.read(visit).render_fields(visit, problem, wrong),
        parameters=list_parameters(visit),
        ask_why=_link_question(visit),
        sides=sides,
        fence=fence_text,
        bars=partial(list_bars, largest=max(parts, default=0.0) or 1.0, texts=visit.texts),
        width=format_width,
        why=why,
        verdict=verdict,
        verdict_name=name_reason(verdict.reason) if verdict else "",
        problem=problem,
        commands=[side.question.write_command(visit.shell_owner) for side in sides]
        + ([sides[0].question.write_command(visit.shell_owner, str(verdict.id))] if verdict else []),
    )


def _link_question(visit: Visit) -> str:
    """Return the address of the same question, to which the id of a memory is added."""
    kept: dict[str, list[str]] = {}
    for name, value in list_parameters(visit):
        kept.setdefault(name, []).append(value)
    return visit.make_link("/ask", **kept, why="")


def format_width(share: float) -> str:
    """Return a share from 0 to 1 as the width of a bar in per cent."""
    return f"{100 * min(1.0, max(0.0, share)):.2f}"


def list_bars(hit: Hit, largest: float, marks: Sequence[str], texts: Texts) -> list[Bar]:
    """Return the relevance of a hit, the parts of its score that are not nothing, and their sum; `largest` is the part
    that fills the scale."""
    relevance = texts.format_number(hit.relevance, 3)
    return [
        Bar(texts("ask.relevance"), relevance, format_width(hit.relevance), marks, "total"),
        *(
            Bar(
                texts.name_value("ask.part", name),
                texts.format_number(value, 3),
                format_width(abs(value) / largest),
                kind="minus" if value < 0 else "",
            )
            for name, value in hit.parts.items()
            if abs(value) >= _LEAST_SHOWN
        ),
        Bar(texts("ask.score"), texts.format_number(hit.score, 3), kind="total"),
    ]


def name_reason(reason: str) -> str:
    """Return a reason as part of the key of a text."""
    return reason.replace(" ", "_").replace("-", "_")


async def _answer_question(visit: Visit, question: Question) -> Side:
    """Ask as the agent does. Raises BadInput, Denied."""
    query, scope, memory = question.build_query(visit), question.make_scope(visit), visit.service.memory
    answer = await memory.query(scope, question.agent, query)
    brief: Brief | None = None
    tokens = 0
    if "context" in visit.request.query_params and not isinstance(query.as_of, int | None):
        raise BadInput("as_of: a context is of a revision; give its number")
    if "context" in visit.request.query_params:
        as_of = Revision(query.as_of) if isinstance(query.as_of, int) else None
        brief = await memory.brief(scope, question.agent, question.text, as_of=as_of)
        tokens = sum(map(memory.conversation.count_tokens, filter(None, (fence_text(brief.stable), brief.moving))))
    return Side(
        question=question,
        answer=answer,
        cuts=answer.cuts or Cuts(),
        groups=_group_omissions(answer.omissions),
        block=fence_text(dump_compact(encode_answer(answer))),
        brief=brief,
        brief_tokens=tokens,
        milliseconds=sum(stage.milliseconds for stage in answer.stages),
    )


def _group_omissions(omissions: Sequence[Omission]) -> list[Group]:
    groups = []
    for reason in _REASONS:
        found = sorted((each for each in omissions if each.reason == reason), key=lambda each: -each.score)
        if found:
            groups.append(Group(reason=reason, omissions=found[:_MOST_LEFT_OUT], total=len(found)))
    return groups


async def _explain_absence(visit: Visit, question: Question, given: str) -> Explanation:
    """Return why a memory is not in the answer. Raises NotFound for one that the token may not read and for one of
    another user alike, BadInput, Denied."""
    memory_id = await visit.caller.find_id(given)
    verdict = await visit.service.memory.why_not(
        question.make_scope(visit), question.agent, memory_id, question.build_query(visit)
    )
    if verdict.reason == "other space or unknown":
        raise NotFound
    return verdict


AREA = Area(name="ask", path="/ask", place=30)
routes: list[Route] = [make_page("/ask", show_ask)]
