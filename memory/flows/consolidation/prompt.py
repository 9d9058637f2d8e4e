"""What a model is asked about pairs of memories, and what its answer says of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from muniment.memory.config.settings import Settings
from muniment.memory.domain.consolidation import Finding, Pair
from muniment.memory.ports.llm import AnswerForm, ChatMessage
from muniment.memory.prompts import load_prompt
from muniment.memory.rules.merging import consolidate, pair_answers


@dataclass(frozen=True, slots=True, kw_only=True)
class PairPrompt:
    """A prompt about some pairs, as a model is asked it."""

    pairs: tuple[Pair, ...]
    messages: tuple[ChatMessage, ...]
    form: AnswerForm
    prompt: str  # version


def make_prompt(pairs: Sequence[Pair]) -> PairPrompt:
    """The prompt about some pairs, the form of its answer, and the prompt's version."""
    told = load_prompt("consolidate")
    shown = json.dumps(pair_answers.encode_pairs(pairs), ensure_ascii=False)
    most = pair_answers.ANSWER_TOKENS * (len(pairs) + 1)
    return PairPrompt(
        pairs=tuple(pairs),
        messages=(ChatMessage(role="system", content=told.text), ChatMessage(role="user", content=shown)),
        form=AnswerForm(name="pairs", schema=pair_answers.ANSWER_SCHEMA, max_tokens=most),
        prompt=told.version,
    )


def mark_unanswered(pairs: Sequence[Pair]) -> tuple[Finding, ...]:
    """Of a prompt that had no answer, or none that can be used."""
    return tuple(Finding(pair=one, judgement=None, source="model") for one in pairs)


def split_pairs(pairs: Sequence[Pair], size: int) -> list[tuple[Pair, ...]]:
    """The pairs in portions of at most so many."""
    return [tuple(pairs[start : start + size]) for start in range(0, len(pairs), size)]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairPrompts:
    """What a model is asked about pairs of memories, and what its answer says of them."""

    settings: Settings

    def parse_answer(self, pairs: Sequence[Pair], content: str) -> tuple[Finding, ...]:
        """What an answer says of the pairs of its prompt, as far as it may: see `rules.consolidate.held`. Raises BadExtraction
        when the answer is not in form."""
        said = pair_answers.parse_answer(content, len(pairs))
        return tuple(
            Finding(
                pair=one,
                judgement=consolidate.guard_judgement(said[n], one, self.get_lasting_categories())
                if n in said
                else None,
                source="model",
            )
            for n, one in enumerate(pairs, 1)
        )

    def get_lasting_categories(self) -> frozenset[str]:
        """The categories that are always in context."""
        return frozenset(slug for slug, one in self.settings.categories.items() if one.context == "all")

    def split_prompts(self, pairs: Sequence[Pair]) -> list[tuple[Pair, ...]]:
        """The pairs, a prompt's worth each. One that was asked in vain is asked by itself: what it shared a prompt with may have
        had no answer because of it."""
        fresh = split_pairs([one for one in pairs if not one.tries], self.settings.consolidation.per_prompt)
        return fresh + [(one,) for one in pairs if one.tries]
