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
    """A prompt about pairs: its messages, the form of its answer, and its version."""

    pairs: tuple[Pair, ...]
    messages: tuple[ChatMessage, ...]
    form: AnswerForm
    version: str


def make_prompt(pairs: Sequence[Pair], folder: str | None = None) -> PairPrompt:
    """Return the prompt about these pairs; `folder` may have an operator's own text of it."""
    prompt = load_prompt("consolidate", folder)
    content = json.dumps(pair_answers.encode_pairs(pairs), ensure_ascii=False)
    max_tokens = pair_answers.ANSWER_TOKENS * (len(pairs) + 1)
    return PairPrompt(
        pairs=tuple(pairs),
        messages=(ChatMessage(role="system", content=prompt.text), ChatMessage(role="user", content=content)),
        form=AnswerForm(name="pairs", schema=pair_answers.ANSWER_SCHEMA, max_tokens=max_tokens),
        version=prompt.version,
    )


def split_pairs(pairs: Sequence[Pair], size: int) -> list[tuple[Pair, ...]]:
    """Return the pairs in portions of at most `size`."""
    return [tuple(pairs[start : start + size]) for start in range(0, len(pairs), size)]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairPrompts:
    """Splits pairs into prompts and reads the answers, as the settings say."""

    settings: Settings

    def parse_answer(self, pairs: Sequence[Pair], content: str) -> tuple[Finding, ...]:
        """Return a finding for each pair of a prompt. A judgement that the rules forbid becomes `different`; a pair
        without a judgement has None. Raises BadExtraction when the answer is not in form."""
        judgements = pair_answers.parse_answer(content, len(pairs))
        categories = self.get_lasting_categories()
        return tuple(
            Finding(
                pair=pair,
                judgement=consolidate.guard_judgement(judgements[n], pair, categories) if n in judgements else None,
                source="model",
            )
            for n, pair in enumerate(pairs, 1)
        )

    def get_lasting_categories(self) -> frozenset[str]:
        """Return the categories that are always in context."""
        return frozenset(slug for slug, category in self.settings.categories.items() if category.context == "all")

    def split_prompts(self, pairs: Sequence[Pair]) -> list[tuple[Pair, ...]]:
        """Return the pairs of each prompt. A pair that got no answer before has a prompt of its own, because it may be
        the reason why the others in its prompt got none."""
        fresh = split_pairs([pair for pair in pairs if not pair.tries], self.settings.consolidation.per_prompt)
        return fresh + [(pair,) for pair in pairs if pair.tries]
