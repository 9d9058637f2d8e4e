"""People who work with an assistant over days, as benchmarks.plugin_users plays them: what they say is a file.

The assistant is a script: it follows an instruction where its prompt has it, in the conversation or in what was added,
and continues a task where its prompt has it. It is never cleverer in one run than in another. Where it lacks something
the person says it again, in the words of before, and from then on the conversation has it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

from muniment.chain import Host, Identity, Message, ToolCall, ToolOutput, TurnContext, TurnOutput, place_additions
from muniment.plugin.domain.item import ItemType

BEGIN = datetime(2026, 3, 2, 9, tzinfo=UTC)
SECONDS = 60  # between two messages
ANSWER = "Here you are."
Watch: TypeAlias = Callable[[TurnContext, bool], None]


def ignore_turn(context: TurnContext, depends: bool) -> None:
    """Watch nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """What somebody has said, with the words by which a prompt has it."""

    words: str
    kind: ItemType
    needles: tuple[str, ...]


@dataclass(slots=True)
class Counts:
    """What happened to one person."""

    turns: int = 0
    needs: int = 0  # in a message that depends on something from an earlier session
    repeated: int = 0  # said again, since the prompt had it not
    by_kind: dict[str, list[int]] = field(default_factory=dict)  # kind -> how many there were, and were said again
    tasks: int = 0  # that are continued
    continued: int = 0  # with what was known of them before them
    kept: dict[str, list[int]] = field(default_factory=dict)  # kind -> how many were taught, and are in the store
    misses: list[str] = field(default_factory=list)

    def count_need(self, kind: str, *, is_met: bool) -> None:
        """Count an instruction that a message depends on."""
        self.needs += 1
        self.repeated += not is_met
        count_pair(self.by_kind, kind, 1, not is_met)

    def count_kept(self, lesson: Lesson, contents: str) -> None:
        """Count something that was taught, and whether the contents of a store have it."""
        is_kept = any(needle in contents for needle in lesson.needles)
        count_pair(self.kept, lesson.kind, 1, is_kept)
        if not is_kept:
            self.misses.append(f"not kept ({lesson.kind}): {lesson.words}")


def count_pair(counts: dict[str, list[int]], kind: str, all_: int, some: int) -> None:
    """Add to the two numbers of a kind."""
    before = counts.get(kind, [0, 0])
    counts[kind] = [before[0] + all_, before[1] + some]


class Person:
    """One person and what they have said, session by session; `counts` is what became of it."""

    def __init__(self, raw: Mapping[str, Any]) -> None:
        self.raw = raw
        self.id, self.language, self.half = str(raw["id"]), str(raw["language"]), str(raw["half"])
        self.counts = Counts()
        self._lessons: dict[str, Lesson] = {}

    @property
    def sessions(self) -> Sequence[Mapping[str, Any]]:
        """The sessions, each with its day and its turns."""
        return [*self.raw["sessions"]]

    def find_identity(self, number: int) -> Identity:
        """Return the identity of a session."""
        project = self.raw["project"]
        return Identity(user=self.id, session=f"{self.id}-{number}", project=None if project is None else str(project))

    def find_time(self, number: int) -> datetime:
        """Return when a session begins."""
        return BEGIN + timedelta(days=int(self.sessions[number]["day"]))

    def teach(self, raw: Mapping[str, Any]) -> None:
        """Take what a message teaches; the newest of a key counts. What a tool showed is said again as its output."""
        shown = " ".join([str(raw["user"]), *(f"{one['arguments']} {one['text']}" for one in raw["tools"])])
        for one in raw["teaches"]:
            words = str(raw["user"]) if one["kind"] != "fix" else shown
            needles = tuple(str(needle).lower() for needle in one["needles"])
            self._lessons[one["key"]] = Lesson(words=words, kind=one["kind"], needles=needles)

    def find_taught(self, number: int) -> dict[str, Lesson]:
        """Return what a session that is over has taught, as it counts at its end."""
        keys = [one["key"] for raw in self.sessions[number]["turns"] for one in raw["teaches"]]
        return {key: self._lessons[key] for key in keys}

    def find_lessons(self, raw: Mapping[str, Any]) -> Iterator[tuple[str, Lesson]]:
        """Yield what a message depends on."""
        for key in raw["needs"]:
            yield key, self._lessons[key]


class Session:
    """A session of a person with the assistant, turn by turn.

    `watch` is called with each turn that is over, as it was prepared, and with whether it depended on anything."""

    def __init__(self, person: Person, number: int, watch: Watch = ignore_turn) -> None:
        self._person, self._watch = person, watch
        self._identity, self._at = person.find_identity(number), person.find_time(number)
        self._turns = person.sessions[number]["turns"]
        self._messages: list[Message] = []
        self._count = 0
        self.now = self._at

    async def play_turns(self, host: Host) -> None:
        """Say all messages of the session."""
        for raw in self._turns:
            await self._play_turn(host, raw)

    async def _play_turn(self, host: Host, raw: Mapping[str, Any]) -> None:
        """Say a message, and say again what the prompt lacks of what it depends on."""
        wanted = [*self._person.find_lessons(raw)]
        prompt = await self._say(host, str(raw["user"]), raw["tools"], depends=bool(wanted))
        for key, lesson in wanted:
            is_met = any(needle in prompt for needle in lesson.needles)
            if key == raw["continues"]:
                self._person.counts.tasks += 1
                self._person.counts.continued += is_met
            else:
                self._person.counts.count_need(lesson.kind, is_met=is_met)
            if not is_met:
                self._person.counts.misses.append(f"{self._identity.session} {key} ({lesson.kind}): {raw['user']}")
                prompt += await self._say(host, lesson.words, (), depends=True)
        self._person.teach(raw)

    async def _say(self, host: Host, text: str, tools: Sequence[Mapping[str, Any]], *, depends: bool) -> str:
        """Return, in lower case, what the assistant had before it."""
        self._count += 1
        self._person.counts.turns += 1
        self.now = self._at + timedelta(seconds=SECONDS * self._count)
        asked = Message(role="user", text=text, id=f"{self._identity.session}-{self._count}", at=self.now)
        turn_id = f"{self._identity.session}-t{self._count}"
        messages = (*self._messages, asked)
        turn = TurnContext(turn_id=turn_id, identity=self._identity, messages=messages, at=self.now)
        seen: list[str] = []
        prepared_turns: list[TurnContext] = []

        async def answer(prepared: TurnContext) -> TurnOutput:
            prepared_turns.append(prepared)
            seen.extend(message.text for message in place_additions(prepared))
            return await self._use_tools(host, prepared, tools)

        output = await host.run_turn(turn, answer)
        await host.drain(60)
        self._watch(prepared_turns[0], depends)
        self._messages += [asked, *output.messages]
        return "\n".join(seen).lower()

    async def _use_tools(self, host: Host, turn: TurnContext, tools: Sequence[Mapping[str, Any]]) -> TurnOutput:
        added: list[Message] = []
        for number, raw in enumerate(tools):
            call = ToolCall(id=f"{turn.turn_id}-{number}", name=raw["name"], arguments=dict(raw["arguments"]))
            output = ToolOutput(call=call, text=str(raw["text"]), at=self.now, is_error=bool(raw["is_error"]))
            await host.report_tool(turn, output)
            added.append(Message(role="assistant", text="", at=self.now, tool_calls=(call,)))
            added.append(Message(role="tool", text=output.text, at=self.now, tool_call_id=call.id, name=call.name))
        added.append(Message(role="assistant", text=ANSWER, at=self.now))
        return TurnOutput(text=ANSWER, at=self.now, messages=tuple(added))
