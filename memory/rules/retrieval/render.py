"""What a model is shown: lines, the delta header and the stable part; and packing: as many hits as fit.

Tokens are counted by the vocabulary of the model that reads them, which is in the wheel of splintr. The name of a model
decides which one it is; where it says nothing, as for Claude and Gemini, which publish none, it is `o200k_base`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from muniment.memory.config.recall import RecallSettings
from muniment.memory.config.schema import Category
from muniment.memory.domain.consent import Consent
from muniment.memory.domain.ids import MemoryId, Revision
from muniment.memory.domain.journal import Delta, Event, JournalEntry
from muniment.memory.domain.memory import StoredMemory
from muniment.memory.domain.query import Answer, Brief, Hit, Omission, Query, Reason
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.search import SearchSnapshot
from muniment.memory.payload import cite_source, dump_compact, encode_answer, encode_hit, fence_text
from muniment.memory.rules.language.lazy_regex import lazy_compile

if TYPE_CHECKING:
    from splintr import AnyTokenizer

JOINT_TOKENS = 1  # between two hits: a comma or a line end
_MAX_TRIES = 4  # hits that may be over budget; a later hit that fits has a lower score


DEFAULT_VOCABULARY = "o200k_base"
TOKENIZERS: dict[str, AnyTokenizer] = {}  # that are loaded: a count by these does not wait
# Names of models by family, tried in this order: a distilled model has the vocabulary of the one that was trained.
_FAMILIES = tuple(
    (vocabulary, lazy_compile(names, re.IGNORECASE))
    for vocabulary, names in (
        ("o200k_base", r"gpt-oss|gpt-4o|gpt-4\.|gpt-5"),
        ("cl100k_base", r"gpt-4|gpt-3\.5"),
        ("qwen2.5", r"qwen|qwq"),
        ("llama3", r"llama-?[34]"),
        ("llama2", r"llama-?2|tinyllama|vicuna"),
        ("deepseek_v3", r"deepseek"),
        ("mistral_v3", r"mistral|ministral|mixtral|codestral|devstral|magistral"),
        ("gemma3", r"gemma"),
        ("glm4", r"\bglm"),
        ("kimi_k2", r"kimi"),
        ("phi4", r"\bphi-?4"),
    )
)


@cache
def choose_vocabulary(model: str | None) -> str:
    """Return the name of the vocabulary that counts for a model, by the model's name; None is no model."""
    for vocabulary, names in _FAMILIES:
        if model and names.search(model):
            return vocabulary
    return DEFAULT_VOCABULARY


def count_tokens(text: str, vocabulary: str = DEFAULT_VOCABULARY) -> int:
    """Return the number of tokens of a text. Special tokens such as `<|endoftext|>` count as plain text."""
    tokenizer = TOKENIZERS.get(vocabulary) or _load_tokenizer(vocabulary)
    try:
        return len(tokenizer.encode_ordinary(text))
    except UnicodeEncodeError:  # half of a surrogate pair, which cannot be sent either
        return len(tokenizer.encode_ordinary(text.encode("utf-8", "replace").decode()))


@lru_cache(maxsize=4_096)
def count_message_tokens(text: str, vocabulary: str) -> int:
    """Return the same for a message of a conversation, which is counted again with each of its turns."""
    return count_tokens(text, vocabulary)


def warm_up(vocabulary: str = DEFAULT_VOCABULARY) -> None:
    """Load a vocabulary, which takes about 0.2 s of CPU and 50 MB, so that the first count does not wait for it.

    It blocks. It may run in any thread; two threads at once load it twice, and one copy stays."""
    count_tokens("qzxvjk", vocabulary)  # no word: the first word that has to be put together builds half of the tables


def _load_tokenizer(vocabulary: str) -> AnyTokenizer:
    from splintr import Tokenizer  # noqa: PLC0415 - slow to import, and not needed before the first count

    tokenizer = TOKENIZERS[vocabulary] = Tokenizer.from_pretrained(vocabulary)
    return tokenizer


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenBudget:
    """How many hits and tokens an answer may hold, and how a hit and the whole answer are rendered."""

    top_k: int
    max_tokens: int
    render_hit: Callable[[Hit], str]  # as `render_block` renders it
    render_block: Callable[[Sequence[Hit]], str]
    vocabulary: str = DEFAULT_VOCABULARY  # of the model that reads the answer
    is_exhaustive: bool = False  # every hit that does not fit is an omission

    def pack_hits(self, ranked: Iterable[Hit | Omission]) -> tuple[list[Hit], int, list[Omission]]:
        """Return the packed hits, the tokens of their payload, and the omissions.

        Packing ends at `top_k` hits or when the budget is full, unless the budget is exhaustive. A hit that is too long
        does not end it: a shorter one soon after it may still fit."""
        packed: list[Hit] = []
        omissions: list[Omission] = []
        empty = count_tokens(self.render_block(()), self.vocabulary)
        spent, tries = empty, _MAX_TRIES
        for hit in ranked:
            if isinstance(hit, Omission):
                omissions.append(hit)
            elif len(packed) >= self.top_k:
                omissions.append(_leave_out(hit, "beyond top_k"))
            elif (
                not tries
                or (cost := count_tokens(self.render_hit(hit), self.vocabulary) + JOINT_TOKENS)
                > self.max_tokens - spent
            ):
                tries = max(0, tries - 1)
                omissions.append(_leave_out(hit, "over budget"))
            else:
                packed.append(hit)
                spent += cost
            if (len(packed) >= self.top_k or not tries) and not self.is_exhaustive:
                break
        while packed and (spent := count_tokens(self.render_block(packed), self.vocabulary)) > self.max_tokens:
            omissions.append(_leave_out(packed.pop(), "over budget"))
        return packed, spent if packed else empty, omissions


def _leave_out(hit: Hit, reason: Reason) -> Omission:
    return Omission(id=hit.memory.id, reason=reason, score=hit.score, relevance=hit.relevance, memory=hit.memory)


def make_query_budget(query: Query, rev: Revision, vocabulary: str, *, degraded: bool) -> TokenBudget:
    """Return the budget of a query, which counts the JSON of the answer with its fence."""

    def render_block(hits: Sequence[Hit]) -> str:
        answer = Answer(hits=tuple(hits), rev=rev, tokens=0, returns=query.returns, degraded=degraded)
        return fence_text(dump_compact(encode_answer(answer)))

    return TokenBudget(
        top_k=query.top_k,
        max_tokens=query.budget_tokens,
        render_hit=lambda hit: dump_compact(encode_hit(hit, query.returns)),
        render_block=render_block,
        vocabulary=vocabulary,
        is_exhaustive=query.explain,
    )


def make_brief_budget(recall: RecallSettings, header: str, vocabulary: str) -> TokenBudget:
    """Return the budget of a brief, which counts its header and its bullets with their fence."""

    def render_block(hits: Sequence[Hit]) -> str:
        text = "\n".join(filter(None, [header, *map(format_context_line, hits)]))
        return text and fence_text(text)

    return TokenBudget(
        top_k=recall.context_bullets,
        max_tokens=recall.context_budget_tokens,
        render_hit=format_context_line,
        render_block=render_block,
        vocabulary=vocabulary,
    )


_LONGEST = 280  # characters of a line
_SHORTER = (_LONGEST, 140, 70, 35, 17, 8)
_POINT = 400  # characters of a hit in the context
_EVENTS: Mapping[str, Event] = {
    "ADD": "created",
    "UPDATE": "updated",
    "MERGE": "merged",
    "RESTORE": "restored",
    "TTL": "soft_deleted",
}


def format_line(text: str, limit: int = _LONGEST) -> str:
    """Return a text on one line, cut to `limit` characters."""
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"


def format_bullet(hit: Hit) -> str:
    """Return `[category] text`, or `[category, of the project] text` of what somebody shares."""
    owner = f", of the {hit.shared_by}" if hit.shared_by else ""
    cited = cite_source(hit.memory) if hit.memory.source else ""
    return f"[{hit.memory.category}{owner}] {hit.memory.text}{cited}"


def format_context_line(hit: Hit) -> str:
    """Return a hit as a line of the context."""
    return f"- {format_line(format_bullet(hit), _POINT)}"


def name_event(entry: JournalEntry) -> Event:
    """Return the event of a journal entry."""
    if entry.action == "DELETE":
        return "deleted" if "hard" in entry.meta else "soft_deleted"
    return _EVENTS[entry.action]


def render_delta_header(
    delta: Delta, categories: Mapping[str, Category], limit: int, text_limit: int = _LONGEST
) -> str:
    """Return `Memory updates since rev {X}:` and at most `limit` bullets, each with at most `text_limit` characters of
    a text. Empty without changes."""
    net_changes = sorted(
        _compute_net_changes(delta.entries), key=lambda pair: (-pair[1].pinned, -pair[1].importance, -pair[1].rev)
    )[:limit]
    if not net_changes:
        return ""
    bullets = [_format_change(name, entry, categories, text_limit) for name, entry in net_changes]
    return "\n".join([f"Memory updates since rev {delta.since}:", *bullets])


def render_stable(
    memories: Sequence[StoredMemory],
    profile: Sequence[Consent] = (),
    shared: Sequence[tuple[Scope, StoredMemory]] = (),
) -> str:
    """Return the stable part of the context: the approved fields of the profile, the memories, those that others
    share."""
    fields = [f"- {consent.field}: {format_line(consent.value)}" for consent in profile]
    named = [("", memory) for memory in memories] + [(f", of the {of.owner_type}", memory) for of, memory in shared]
    lines = (
        f"- [{memory.category}{owner}] {format_line(memory.text)}{cite_source(memory) if memory.source else ''}"
        for owner, memory in named
    )
    return "\n".join([*fields, *lines])


def render_brief(
    snapshot: SearchSnapshot,
    answer: Answer,
    budget: TokenBudget,
    fields: Sequence[Consent],
    *,
    header: str,
    items: int,
    limit: int | None,
) -> tuple[Brief, tuple[Hit, ...]]:
    """Return a brief and its hits: the approved `fields` and at most `items` of the stable memories, then the hits.

    With a `limit` the fields are among these `items`, and there are so many memories in all."""
    own, hits = snapshot.stable, answer.hits
    if limit is not None:
        fields = fields[:items]
        own = own[: items - len(fields)]
    shared = snapshot.shared_stable[: max(0, items - len(own) - (0 if limit is None else len(fields)))]
    lasting = (*own, *(memory for _, memory in shared))
    if limit is not None:
        shown = {memory.id for memory in lasting}
        hits = tuple(hit for hit in hits if hit.memory.id not in shown)[: limit - len(fields) - len(lasting)]
    brief = Brief(
        rev=snapshot.rev,
        stable=render_stable(own, fields, shared),
        stable_keys=(*(each.field for each in fields), *(str(memory.id) for memory in lasting)),
        header=header,
        bullets=tuple(map(format_bullet, hits)),
        turns=tuple(frozenset(hit.memory.turns) for hit in hits),
        moving=budget.render_block(hits),
        degraded=answer.degraded,
        relevance=max((hit.relevance for hit in hits), default=0.0),
        bullet_keys=tuple(str(hit.memory.id) for hit in hits),
    )
    return brief, hits


def _compute_net_changes(entries: Sequence[JournalEntry]) -> list[tuple[Event, JournalEntry]]:
    """Return the net change of each memory that has one.

    A memory has none if it was created and deleted, if it was merged into another, whose entry covers both, or if a run
    was undone."""
    first: dict[MemoryId, Event] = {}
    last: dict[MemoryId, JournalEntry] = {}
    first_meta: dict[MemoryId, dict[str, Any]] = {}
    for entry in entries:
        first_meta.setdefault(entry.memory_id, entry.meta)
        first.setdefault(entry.memory_id, _name_net_event(entry))
        last[entry.memory_id] = entry if "from" not in entry.meta else _add_note_count(entry, last.get(entry.memory_id))
    changes: list[tuple[Event, JournalEntry]] = []
    for id_, entry in last.items():
        name = _name_net_event(entry)
        gone = name in ("deleted", "soft_deleted")
        if (
            "into" in entry.meta
            or "stayed" in entry.meta
            or entry.meta.get("undo", entry) == first_meta[id_].get("run")
        ):
            continue
        if first[id_] == "created":
            if not gone:
                changes.append(("created", entry))
        elif not (first[id_] in ("deleted", "soft_deleted") and name == "restored"):
            changes.append((name, entry))
    return changes


def _name_net_event(entry: JournalEntry) -> Event:
    """Return the event of an entry; a memory that replaces an outdated one counts as an update."""
    replaces = "from" in entry.meta and entry.meta.get("why") == "supersedes"
    return "updated" if replaces else name_event(entry)


def _add_note_count(entry: JournalEntry, before: JournalEntry | None) -> JournalEntry:
    """Return the entry of a merge with the number of all notes that were merged since the last delta."""
    earlier = before.meta.get("notes", 2) if before is not None and "from" in before.meta else 1
    return replace(entry, meta=entry.meta | {"notes": earlier + entry.meta.get("notes", 2) - 1})


def fit_delta_header(
    delta: Delta, categories: Mapping[str, Category], limit: int, budget: int, vocabulary: str = DEFAULT_VOCABULARY
) -> str:
    """Return the longest delta header that fits into a budget of tokens with its fence, or an empty text.

    Texts get shorter first, then there are fewer bullets."""
    for count in range(limit, 0, -1):
        for longest in _SHORTER:
            header = render_delta_header(delta, categories, count, longest)
            if count_tokens(fence_text(header), vocabulary) <= budget:
                return header
    return ""


def _format_change(name: Event, entry: JournalEntry, categories: Mapping[str, Category], text_limit: int) -> str:
    category = categories.get(entry.category)
    label = category.label if category else entry.category
    text = format_line(entry.text, text_limit).rstrip(".")
    if name == "created":
        return f"- +created: [{label}] {text} (imp={entry.importance})"
    if name == "merged":
        about = format_line(entry.meta.get("about") or text, text_limit)
        return f"- ↔merged: Combined {entry.meta.get('notes', 2)} notes about {about}"
    mark = {"updated": "↑", "restored": "+"}.get(name, "-")
    return f"- {mark}{name}: [{label}] {text}"
