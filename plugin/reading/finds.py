"""What a turn says that may become an item, and which items it repeats, replaces or ends."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from uuid import uuid5

from muniment.memory.domain.memory import Fact, FactKind, is_note, is_structured
from muniment.memory.domain.scope import SPACE_NAMESPACE
from muniment.memory.domain.turn import Candidate, ForgetRequest
from muniment.memory.errors import TooLarge
from muniment.memory.rules.extraction.gate import validate_candidate
from muniment.memory.rules.language.tokens import fold_text, get_lexeme_set
from muniment.memory.rules.merging.wording import compare_texts
from muniment.memory.rules.provenance.quoted import is_echo
from muniment.memory.rules.statements.parse import parse_statement
from muniment.plugin.domain.item import ItemOwner, ItemScope, ItemType, MemoryItem
from muniment.plugin.gates.distillation import distill_statement
from muniment.plugin.gates.privacy import decide_content
from muniment.plugin.gates.write import FOREIGN
from muniment.plugin.reading.declarations import read_declarations
from muniment.plugin.reading.instructions import read_instructions
from muniment.plugin.reading.order_forms import is_question

if TYPE_CHECKING:
    from muniment.memory.config.plugin import ScopeDays
    from muniment.memory.config.settings import Settings
    from muniment.memory.domain.turn import Turn
    from muniment.memory.rules.extraction.turn_reader import TurnReader

ECHO = "repeats what was recalled"
UNTOLD = "no statement"
ASKED = "question"
TOO_LONG = "longer than a turn that is read"
GENERATIONS = 4  # ids of one statement, each for when the one before was forgotten
_TYPES: dict[FactKind, ItemType] = {
    "preference": "preference", "rule": "rule", "constraint": "rule", "decision": "decision", "fix": "fix",
    "todo": "todo",
}  # fmt: skip
_OF_PROJECT: frozenset[ItemType] = frozenset({"rule", "decision", "fix", "todo"})
_PROJECT_CATEGORIES = frozenset({"projects", "knowledge", "tasks"})
_MAX_CHARS = 280
_TOLD_SHARE = 0.6  # of an instruction's words in a note that says the same
_QUOTES = frozenset('"“”')
_TASTES = frozenset({"likes", "dislikes"})  # which say nothing of how to work


@dataclass(frozen=True, slots=True, kw_only=True)
class Find:
    """A find as it would be kept: what it says, and what kind of item it is."""

    candidate: Candidate
    content: str
    type: ItemType
    said: str = ""  # the sentence from which it comes
    is_requested: bool = False
    is_verified: bool = False
    is_standing: bool = False  # laid down for good, by the form of the message

    @property
    def key(self) -> str:
        """What makes it the same statement: of a fact with one value at a time what it is about, else its words."""
        fact = self.candidate.fact
        return fact.key if fact is not None and fact.single else fold_text(self.content)


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnFinds:
    """The finds of a turn, the reasons why others are none, and what its speaker wants forgotten."""

    finds: tuple[Find, ...] = ()
    refusals: tuple[str, ...] = ()
    forget_requests: tuple[ForgetRequest, ...] = ()


def read_finds(turn: Turn, previous: Sequence[Turn], reader: TurnReader, settings: Settings) -> TurnFinds:
    """Return what a turn of a person says. Secrets, quotes and what only repeats recalled text are left out.

    A turn over `limits.turn_chars` says nothing."""
    try:
        safe, reason, extraction = reader.read_turn(turn, previous)
    except TooLarge:
        return TurnFinds(refusals=(TOO_LONG,))
    instructions = read_instructions(safe, reader)
    others = [one for one in extraction.candidates if not _is_in(one, instructions)]
    candidates = [*instructions, *others]
    if not candidates:
        candidates = [*read_declarations(safe)]
    finds: dict[str, Find] = {}
    refusals: list[str] = [] if candidates or reason is None else [reason]
    for candidate in candidates:
        find = _make_find(candidate, safe, settings, is_requested=candidate.text in extraction.requested_texts)
        if isinstance(find, Find) and candidate in instructions:
            find = replace(find, is_standing=True)
        if isinstance(find, str):
            refusals.append(find)
        else:
            finds.setdefault(find.key, find)
    return TurnFinds(finds=tuple(finds.values()), refusals=tuple(refusals), forget_requests=extraction.forget_requests)


def _is_in(candidate: Candidate, instructions: Sequence[Candidate]) -> bool:
    """Whether a note, or a candidate in the same words, says what an instruction says."""
    words = get_lexeme_set(candidate.text)
    told = [get_lexeme_set(one.text) for one in instructions]
    if candidate.fact is None or not instructions or not is_note(candidate.fact):
        return words in told
    if candidate.is_correction:
        return True
    return candidate.fact.kind == "note" and any(len(each & words) >= _TOLD_SHARE * len(each) for each in told)


def _make_find(candidate: Candidate, turn: Turn, settings: Settings, *, is_requested: bool) -> Find | str:
    if candidate.state == "pending":
        return FOREIGN
    if candidate.category == "preferences" and is_note(candidate.fact) and not _QUOTES.intersection(candidate.text):
        fact = Fact(kind="preference", predicate="prefers", object=candidate.text)
        candidate = replace(candidate, fact=fact)  # told in the third person already
    valid, refusal = validate_candidate(candidate, categories=frozenset(settings.categories), max_chars=_MAX_CHARS)
    if valid is None:
        return refusal or UNTOLD
    if is_echo(valid, (turn,)):
        return ECHO
    content = distill_statement(valid)
    if content is None:
        return UNTOLD
    decision = decide_content(content, (turn.text,))
    if not decision.allowed:
        return decision.reason
    said = valid.fact.object if valid.fact is not None and is_note(valid.fact) else turn.text
    if is_question(said):
        return ASKED
    return Find(candidate=valid, content=content, type=choose_type(valid), said=said, is_requested=is_requested)


def choose_type(candidate: Candidate) -> ItemType:
    """Return the type of item that a find becomes."""
    kind = candidate.fact.kind if candidate.fact else None
    if candidate.fact is not None and candidate.fact.predicate in _TASTES:
        return "fact"
    if kind in _TYPES:
        return _TYPES[kind]
    return {"style": "preference", "constraints": "rule"}.get(candidate.category, "fact")  # type: ignore[return-value] # two words of a mapping of texts


def choose_scope(find: Find, owner: ItemOwner) -> ItemScope:
    """Return where a find is found: what a person prefers everywhere, what belongs to a project only there."""
    is_of_project = find.type in _OF_PROJECT or find.candidate.category in _PROJECT_CATEGORIES
    is_own = find.type == "preference" or is_structured(find.candidate.fact)
    return "project" if owner.project is not None and is_of_project and not is_own else "global"


def make_item(
    find: Find, owner: ItemOwner, at: datetime, days: ScopeDays, *, keywords: Sequence[str] = (), generation: int = 0
) -> MemoryItem:
    """Return a find as an item. The same statement of a user in the same place has the same id."""
    scope = choose_scope(find, owner)
    project = owner.project if scope == "project" else None
    kept = {"session": days.session, "project": days.project, "global": days.everywhere}[scope]
    name = "\x1f".join((owner.tenant, owner.user, scope, project or "", find.type, find.key, str(generation)))
    candidate = find.candidate
    return MemoryItem(
        id=str(uuid5(SPACE_NAMESPACE, name)),
        tenant_id=owner.tenant,
        user_id=owner.user,
        type=find.type,
        content=find.content,
        created_at=at,
        scope=scope,
        project_id=project,
        keywords=tuple(keywords),
        confidence=candidate.confidence,
        importance=(candidate.importance - 1) / 4,
        source=candidate.trust,
        ttl=timedelta(days=kept) if kept is not None else None,
    )


def list_ids(find: Find, owner: ItemOwner, at: datetime, days: ScopeDays) -> frozenset[str]:
    """Return the ids under which a find may stand."""
    return frozenset(make_item(find, owner, at, days, generation=n).id for n in range(GENERATIONS))


def is_same(find: Find, item: MemoryItem) -> bool:
    """Return whether an item says what a find says, in the same words or others."""
    if fold_text(find.content) == fold_text(item.content):
        return True
    return find.type == item.type and _compare(find, item) == "same" and _has_same_size(find, item)


def is_replaced(find: Find, item: MemoryItem) -> bool:
    """Return whether a find says the contrary of an item, or puts another value in its place."""
    return item.source == "user" and _compare(find, item) == "supersedes"


def find_overruled(
    finds: Iterable[Find], items: Sequence[MemoryItem], owner: ItemOwner, at: datetime, days: ScopeDays
) -> frozenset[str]:
    """Return the ids of the items that what was just said contradicts: the same key, another value."""
    gone: set[str] = set()
    for find in finds:
        ids = list_ids(find, owner, at, days)
        for item in items:
            has_other_value = item.id in ids and fold_text(item.content) != fold_text(find.content)
            if has_other_value or is_replaced(find, item):
                gone.add(item.id)
    return frozenset(gone)


def find_unwanted(request: ForgetRequest, items: Sequence[MemoryItem]) -> list[MemoryItem]:
    """Return the items that a wish to forget names: all its words stand in them. Of several for one, none is."""
    words = get_lexeme_set(request.words)
    if request.is_void or request.everything or not words:
        return []
    told = get_lexeme_set(request.third_person) if request.third_person else words
    found = [item for item in items if words <= (held := get_lexeme_set(item.content)) or told <= held]
    return [] if request.is_single and len(found) > 1 else found


def _compare(find: Find, item: MemoryItem) -> str:
    return compare_texts(parse_statement(find.content), parse_statement(item.content))


def _has_same_size(find: Find, item: MemoryItem) -> bool:
    """Whether neither says much more than the other: "same" of the rules also means that it is held."""
    new, old = get_lexeme_set(find.content), get_lexeme_set(item.content)
    return len(new & old) >= 0.8 * len(new | old)
