"""Imports the records of other memories: a memory is kept as given, with its origin; a message is learned from."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from muniment.memory.config.settings import Settings
from muniment.memory.domain.ids import TurnId
from muniment.memory.domain.layers.imports import ImportedMemory, ImportedMessage, RecordOutcome
from muniment.memory.domain.memory import ROLE_TRUST
from muniment.memory.domain.plan import Receipt
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate, Turn
from muniment.memory.flows.writing.import_rows import ImportLine, ImportRows, ImportTally, group_lines
from muniment.memory.flows.writing.importing.transfer import Transfer
from muniment.memory.flows.writing.write import Writer
from muniment.memory.ports.clock import Clock
from muniment.memory.ports.ledger import TurnLedger
from muniment.memory.rules.extraction.turn_reader import MAX_PREVIOUS
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.merging.placement import MAX_SOURCE_CHARS, sanitize_candidate
from muniment.memory.rules.redaction.redact import Redactor

_CATEGORY = "activity"  # of a note whose source names no category
_SESSION = "import"  # the prefix of the session of turns that no conversation has
_REMOVED = lazy_compile(r"\[redacted:[^\]]*\]")
_WORD = lazy_compile(r"\w")
_NOTHING_LEFT = "says nothing but a secret"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    """A memory of a source, the turn that stands for it in the ledger, and the candidate that it is."""

    memory: ImportedMemory
    turn: Turn
    candidate: Candidate


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RecordImport:
    """Imports records in the order in which they are given; each ends with one outcome.

    A record has a turn of the ledger, whose id comes from its origin, its key and its words: the same record again is
    known, also where its memory was forgotten since."""

    clock: Clock
    import_rows: ImportRows
    ledger: TurnLedger
    redactor: Redactor
    settings: Settings
    transfer: Transfer
    writer: Writer

    async def keep_memories(self, scope: Scope, memories: Sequence[ImportedMemory]) -> tuple[RecordOutcome, ...]:
        """Keep memories of another system, in the order of their time. What ended is kept without being compared.

        Raises StoreError, ModelError."""
        outcomes: dict[int, RecordOutcome] = {}
        turns = [self._make_turn(memory) for memory in memories]
        known = await self.ledger.find_consumed_turns(scope, [turn.id for turn in turns])
        entries: dict[int, _Entry] = {}
        seen: set[TurnId] = set()
        checked = await asyncio.to_thread(self._check_memories, scope, memories, turns)
        for number, (memory, turn, result) in enumerate(zip(memories, turns, checked, strict=True)):
            if isinstance(result, str):
                outcomes[number] = RecordOutcome(place=memory.place, fate="refused", reason=result)
            elif turn.id in known or turn.id in seen:
                outcomes[number] = RecordOutcome(place=memory.place, fate="known")
            else:
                entries[number] = _Entry(memory=memory, turn=turn, candidate=result)
                seen.add(turn.id)
        now = self.clock.now()
        ended = {
            n: entry for n, entry in entries.items() if entry.candidate.expires_at and entry.candidate.expires_at <= now
        }
        outcomes |= await self._keep_ended(scope, ended)
        outcomes |= await self._keep_current(scope, {n: entry for n, entry in entries.items() if n not in ended})
        return tuple(outcomes[number] for number in range(len(memories)))

    async def learn_messages(
        self, scope: Scope, messages: Sequence[ImportedMessage], previous: Sequence[ImportedMessage] = ()
    ) -> tuple[RecordOutcome, ...]:
        """Learn from the messages of one conversation, oldest first, and record them in its thread.

        `previous` are those before them. A message that is recorded already is known. Raises StoreError, ModelError."""
        if not messages:
            return ()
        # What a source takes for the name of a conversation may be any text.
        thread = self.redactor.sanitize_text(f"{messages[0].origin}/{messages[0].conversation}")
        own = replace(scope, session=thread, thread=thread)
        said = [_make_message_turn(own, message) for message in (*previous[-MAX_PREVIOUS:], *messages)]
        start = len(said) - len(messages)
        known = await self.ledger.find_existing_turns(own, [turn.id for turn in said[start:]])
        outcomes: list[RecordOutcome] = []
        recorded: list[Turn] = []
        for number, message in enumerate(messages, start):
            turn = said[number]
            outcome = await self._learn_message(own, message, turn, said[max(0, number - MAX_PREVIOUS) : number], known)
            outcomes.append(outcome)
            if outcome.fate != "refused":
                recorded.append(turn)
        if any(turn.id not in known for turn in recorded):
            await self.writer.record_turns(own, recorded)
        return tuple(outcomes)

    async def _learn_message(
        self, scope: Scope, message: ImportedMessage, turn: Turn, before: Sequence[Turn], known: frozenset[TurnId]
    ) -> RecordOutcome:
        most = self.settings.limits.turn_chars
        refusal = self.redactor.find_denial_reason(scope, turn)
        if refusal is None and len(message.text) > most:
            refusal = f"longer than {most} characters (limits.turn_chars)"
        if refusal is not None:
            return RecordOutcome(place=message.place, fate="refused", reason=refusal)
        if turn.id in known:
            return RecordOutcome(place=message.place, fate="known")
        if turn.role != "user":
            return RecordOutcome(place=message.place, fate="recorded", reason=f"said by the {turn.role}")
        receipt = await self.writer.learn_turn(
            scope, turn, [one for one in before if len(one.text) <= most], node="face"
        )
        if receipt.changes:
            return RecordOutcome(place=message.place, fate="learned")
        why = receipt.skipped or (receipt.refused[0] if receipt.refused else "nothing to remember")
        return RecordOutcome(place=message.place, fate="recorded", reason=why)

    def _make_turn(self, memory: ImportedMemory) -> Turn:
        """Return the turn of a memory: of a session of its origin, with no thread. It is kept as a transcript."""
        return Turn.make(
            session=f"{_SESSION}/{memory.origin}",
            key=memory.key,
            role=memory.role,
            text=memory.text,
            at=memory.at or self.clock.now(),
            actor=memory.actor,
            tags=memory.tags,
            kind="transcript",
        )

    def _check_memories(
        self, scope: Scope, memories: Sequence[ImportedMemory], turns: Sequence[Turn]
    ) -> list[Candidate | str]:
        """Return the candidate of each memory, or the reason why it cannot be kept."""
        return [self._check_memory(scope, *pair) for pair in zip(memories, turns, strict=True)]

    def _check_memory(self, scope: Scope, memory: ImportedMemory, turn: Turn) -> Candidate | str:
        if (refusal := self.redactor.find_denial_reason(scope, turn)) is not None:
            return refusal
        if len(memory.text) > (most := self.settings.limits.turn_chars):
            return f"longer than {most} characters (limits.turn_chars)"
        candidate = Candidate(
            text=memory.text,
            category=_CATEGORY,
            kind="episodic",
            trust=ROLE_TRUST[memory.role],
            role=memory.role,
            tags=memory.tags,
            actor=memory.actor,
            context=memory.context,
            turns=(turn.id,),
            event_time=memory.at,
            expires_at=memory.ended_at,
            source=f"{memory.origin}/{memory.key}"[:MAX_SOURCE_CHARS],
        )
        safe = sanitize_candidate(candidate, self.redactor)
        if safe.text != candidate.text and not _WORD.search(_REMOVED.sub("", safe.text)):
            return _NOTHING_LEFT
        checked, reason = self.writer.check_candidate(safe)
        return checked if checked is not None else reason or "cannot be kept"

    async def _keep_ended(self, scope: Scope, entries: dict[int, _Entry]) -> dict[int, RecordOutcome]:
        """Keep what is not so any more: it changes nothing that is known, and no answer has it."""
        source = self.transfer.open_source([entry.candidate for entry in entries.values()])
        await self.transfer.ingest_candidates(scope, source, None)
        return {n: RecordOutcome(place=entry.memory.place, fate="kept") for n, entry in entries.items()}

    async def _keep_current(self, scope: Scope, entries: dict[int, _Entry]) -> dict[int, RecordOutcome]:
        lines = await asyncio.to_thread(lambda: [self._parse_entry(scope, n, entry) for n, entry in entries.items()])
        tally, refused = ImportTally(), dict[int, str]()
        for group in group_lines(lines):
            receipt = await self._keep_group(scope, group, entries)
            tally.count_changes(group, receipt.changes)
            if receipt.refused or receipt.skipped:
                reason = receipt.skipped or receipt.refused[0]
                refused |= {line.number: reason for line in group}
        report = tally.make_report()
        outcomes: dict[int, RecordOutcome] = {}
        for number, entry in entries.items():
            place = entry.memory.place
            if number in report.unused:
                is_refused = number in refused
                outcomes[number] = RecordOutcome(
                    place=place, fate="refused" if is_refused else "known", reason=refused.get(number, "")
                )
            else:
                outcomes[number] = RecordOutcome(place=place, fate="merged" if number in report.merged else "kept")
        return outcomes

    def _parse_entry(self, scope: Scope, number: int, entry: _Entry) -> ImportLine:
        """Return the statement of a memory where the rules read all of its words as one, else the memory as it stands.

        One memory stays one: of several statements each would say a part of what was given, and one that is too long
        would be cut."""
        candidate = entry.candidate
        as_given = ImportLine(number=number, candidates=(candidate,))
        if entry.memory.role != "user" or len(candidate.text) > self.settings.limits.memory_chars:
            return as_given
        line = self.import_rows.parse_line(scope, number, {}, candidate)
        if not line.is_parsed or len(line.candidates) != 1:
            return as_given
        statement = replace(line.candidates[0], turns=candidate.turns, context=candidate.context)
        # Its structure is read; its words stay as they are given, where they say by themselves what it says.
        given, _ = self.writer.check_candidate(replace(statement, text=candidate.text))
        kept = given if given is not None and given.text == candidate.text else statement
        return replace(line, candidates=(kept,))

    async def _keep_group(self, scope: Scope, group: Sequence[ImportLine], entries: dict[int, _Entry]) -> Receipt:
        candidates = tuple(candidate for line in group for candidate in line.candidates)
        turns = tuple(entries[line.number].turn for line in group)
        return await self.writer.keep_candidates(
            scope, candidates, turns, node="face", said_at=group[0].at, file_rows=len(group)
        )


def _make_message_turn(scope: Scope, message: ImportedMessage) -> Turn:
    return Turn.make(
        session=scope.session or "",
        key=message.key,
        role=message.role,
        text=message.text,
        at=message.at,
        thread=scope.thread,
        actor=scope.actor if message.role == "user" else None,
    )
