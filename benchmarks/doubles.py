"""Spaces with planted doubles: what says the same, what takes the place of something, and what only looks like it.

Everything follows from a seed and a half. Each statement has a `group`, what it says, and a `line`, what it has one
value of at a time; so of any two of them it is known what they are to each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, Literal
from uuid import UUID

import yaml

from muniment.memory.domain.ids import TurnId
from muniment.memory.domain.memory import Fact, Kind
from muniment.memory.domain.turn import Candidate
from muniment.memory.errors import BadInput

DATA = Path(__file__).parent / "data" / "doubles.yaml"
BOTH = ("tune", "held-out")
BLIND = ("fresh", "sealed")  # of families written without sight of the rules
# Those that follow BLIND: without sight of what others have shown, too.
HALVES = (
    *BOTH, *BLIND, "unseen", "strange", "last", "plain", "odd", "usual", "daily", "further", "later", "spare",
    "closing",
)  # fmt: skip
Role = Literal["base", "double", "change", "miss"]
Label = Literal["same", "supersedes", "different"]
_USER = ("The user", "the user", "用户")
_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_DIGITS = "零一两三四五六七八九"
_MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
_SHARES = {"double": 0.15, "change": 0.04, "miss": 0.20}  # of all memories
_STRUCTURED = 0.8  # of the statements of a family that has facts


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One statement: `how` it was made, of whom it is, what it says, and which value of what it is the how-manieth."""

    text: str
    role: Role
    how: str
    person: str
    group: str
    line: str | None
    version: int
    candidate: Candidate

    def beside(self, earlier: Said) -> Label:
        """What this is to an earlier statement."""
        if self.group == earlier.group:
            return "same"
        on_line = self.line is not None and self.line == earlier.line
        return "supersedes" if on_line and self.version > earlier.version else "different"


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """The statements of one half: the earlier ones first, then what is said of the same things later."""

    half: str
    earlier: tuple[Said, ...]
    later: tuple[Said, ...]

    @property
    def said(self) -> tuple[Said, ...]:
        """All of them."""
        return self.earlier + self.later


@dataclass(frozen=True, slots=True)
class _Values:
    """What a family says of a person."""

    a: str = ""
    b: str = ""
    n: int = 0
    d: date = date(2026, 1, 1)

    @property
    def day(self) -> str:
        return f"{self.d.day} {_MONTHS[self.d.month - 1]} {self.d.year}"

    @property
    def z(self) -> str:
        return f"{self.d.year}年{self._yearless}"

    @property
    def _yearless(self) -> str:
        return f"{self.d.month}月{self.d.day}日"

    def fill(self, text: str, person: str, was: _Values) -> str:
        month, day = _MONTHS[self.d.month - 1], self.d.day
        ending = "th" if 10 < day < 20 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
        word, digit = (of[self.n] if self.n < len(of) else str(self.n) for of in (_WORDS, _DIGITS))
        told = text.format(
            p=person,
            a=self.a,
            b=self.b,
            n=self.n,
            w=word,
            c=digit,
            d=self.day,
            s=f"{month} {day}, {self.d.year}",
            i=self.d.isoformat(),
            o=f"{day}{ending} of {month}",
            z=self.z,
            y=self._yearless,
            was=was,
        )
        return told[:1].upper() + told[1:]


@dataclass
class _Maker:
    """Draws statements, none of which says what another says already."""

    half: str
    dice: Random
    taken: set[tuple[str, ...]] = field(default_factory=set)
    texts: set[str] = field(default_factory=set)

    def base(self) -> tuple[dict[str, Any], str, _Values, Said]:
        """A statement about something that nothing was said about."""
        while True:
            family = self.dice.choice([one for one in _data()["families"] if one["half"] == self.half])
            person, values = self._person(family), self._values(family)
            if self._take(family, person, values):
                line = _line(family, person, values)
                said = self._said(family, family["say"], "base", "base", person, values, line=line, predicate=1)
                if said is not None:
                    return family, person, values, said

    def double(self, family: dict[str, Any], person: str, values: _Values, base: Said) -> Said | None:
        """The same in other words, or only written otherwise."""
        how, text = self.dice.choice([("form", family["say"] + "."), *family["again"].items()])
        return self._said(family, text, "double", how, person, values, line=base.line, group=base.group, predicate=2)

    def change(self, family: dict[str, Any], person: str, values: _Values, base: Said) -> Said | None:
        """Another value, said later."""
        if "now" not in family:
            return None
        text = self.dice.choice(family["now"])
        other = self._other(family, values)
        return self._said(
            family, text, "change", "value", person, other, line=base.line, version=1, predicate=2, was=values
        )

    def miss(self, family: dict[str, Any], person: str, values: _Values, _base: Said) -> Said | None:
        """Near, and something else: of somebody else, of another number or day, of something else."""
        hows = [
            "person",
            *(["number"] if "number" in family else []),
            *(["date"] if "date" in family else []),
            "apart",
            "apart",
        ]
        how = self.dice.choice(hows)
        if how == "apart":
            text = self.dice.choice(family["apart"])
            if "{b}" in text and not self._take(family, person, _Values(values.b, values.a, values.n, values.d)):
                return None  # what is denied here was said elsewhere
            return self._said(
                family, text, "miss", "negation" if "not " in text or "不" in text else how, person, values
            )
        if how != "person" and family.get("single"):
            return None  # that would be a change
        other = self._like(family, person) if how == "person" else person
        shown = values if how == "person" else self._other(family, values, how)
        if (how == "person" and other == person) or not self._take(family, other, shown):
            return None
        text = self.dice.choice([family["say"], *family["again"].values()]) if self.half not in BOTH else family["say"]
        return self._said(family, text, "miss", how, other, shown, line=_line(family, other, shown))

    def _said(
        self,
        family: dict[str, Any],
        text: str,
        role: Role,
        how: str,
        person: str,
        values: _Values,
        *,
        line: str | None = None,
        group: str | None = None,
        version: int = 0,
        predicate: int = 0,
        was: _Values | None = None,
    ) -> Said | None:
        told = values.fill(text, person, was or values)
        if told in self.texts:
            return None
        self.texts.add(told)
        kind: Kind = family.get("kind", "semantic")
        fact, structure = family.get("fact"), None
        if fact and predicate and self.dice.random() < _STRUCTURED:
            structure = Fact(
                kind=fact[0],
                predicate=fact[predicate],
                object=values.a,
                subject="user" if person in _USER else person,
                persons=() if person in _USER else (person,),
                single=bool(family.get("single")),
            )
        candidate = Candidate(
            text=told,
            category=family["category"],
            kind=kind,
            confidence=1.0,
            fact=structure,
            importance=self.dice.choice((2, 2, 3)),
            turns=(TurnId(UUID(int=self.dice.getrandbits(128), version=4)),),
        )
        return Said(
            text=told,
            role=role,
            how=how,
            person=person,
            group=group or told,
            line=line,
            version=version,
            candidate=candidate,
        )

    def _person(self, family: dict[str, Any]) -> str:
        named = [name for one in self._people(family) for name in ([one] if isinstance(one, str) else one)]
        return self.dice.choice(named)

    def _like(self, family: dict[str, Any], person: str) -> str:
        """Somebody whose name is like it, if there is one."""
        alike = next((one for one in self._people(family) if not isinstance(one, str) and person in one), None)
        return self.dice.choice(alike) if alike else self._person(family)

    def _people(self, family: dict[str, Any]) -> list[str | list[str]]:
        found: list[str | list[str]] = _data()["people"][("zh-" if family.get("lang") == "zh" else "") + self.half]
        return found

    def _values(self, family: dict[str, Any]) -> _Values:
        pool = _data()["pools"].get(family.get("pool"), ["", ""])
        if isinstance(pool[0], list):
            pool = self.dice.choice(pool)
        a, b = self.dice.sample(pool, 2) if len(pool) > 1 else (pool[0], "")
        low, high = family.get("number", (0, 0))
        return _Values(a, b, self.dice.randint(low, high), date(2026, 1, 1) + timedelta(self.dice.randrange(360)))

    def _other(self, family: dict[str, Any], values: _Values, how: str = "") -> _Values:
        """Another value of the same: another number or day where it has one, else the other of its pool."""
        while True:
            new = self._values(family)
            if how == "number" or (not how and "number" in family):
                new = _Values(values.a, values.b, new.n, values.d)
            elif how == "date" or (not how and "date" in family):
                new = _Values(values.a, values.b, values.n, new.d)
            else:
                new = _Values(new.a, new.b, values.n, values.d)
            if (new.a, new.n, new.d) != (values.a, values.n, values.d):
                return new

    def _take(self, family: dict[str, Any], person: str, values: _Values) -> bool:
        """Whether nothing was said of this before: of what has one value at a time only one is said, and then
        changed."""
        about = (family["name"], person, "" if family.get("single") and not _each(family) else values.a)
        number, day = str(values.n) if "number" in family else "", str(values.d) if "date" in family else ""
        key = about if family.get("single") else (*about, number, day)
        fresh = key not in self.taken
        self.taken.add(key)
        return fresh


def world(half: str, memories: int, seed: int) -> World:
    """So many statements of one half. Raises BadInput when its families have not so much to say."""
    maker = _Maker(half, Random(f"{seed} {half}"))
    wanted = {role: round(memories * share) for role, share in _SHARES.items()}
    bases = [maker.base() for _ in range(memories - sum(wanted.values()))]
    later: list[Said] = []
    changed: set[str] = set()
    for role, count in wanted.items():
        made = list(_planted(maker, role, count, bases, changed))
        if len(made) < count:
            raise BadInput(f"the half {half!r} has no {count} of {role!r} in {memories} memories")
        later += made
    maker.dice.shuffle(later)
    return World(half=half, earlier=tuple(one[-1] for one in bases), later=tuple(later))


def _planted(
    maker: _Maker, role: str, count: int, bases: Sequence[tuple[dict[str, Any], str, _Values, Said]], changed: set[str]
) -> Iterator[Said]:
    """One for each of so many bases, each of another; what has a double does not change, so that it is clear what is
    last."""
    make = {"double": maker.double, "change": maker.change, "miss": maker.miss}[role]
    for base in maker.dice.sample(bases, len(bases)) * 3:
        if not count:
            return
        if role != "miss" and base[-1].group in changed:
            continue
        made = make(*base)
        if made is not None:
            changed.add(base[-1].group)
            count -= 1
            yield made


def _line(family: dict[str, Any], person: str, values: _Values) -> str | None:
    return f"{family['name']} {person} {values.a if _each(family) else ''}" if family.get("single") else None


def _each(family: dict[str, Any]) -> bool:
    """Whether it is the number or the day that changes, of each value of the pool."""
    return "pool" in family and ("date" in family or "number" in family)


@cache
def _data() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(DATA.read_text(encoding="utf-8"))
    return found
