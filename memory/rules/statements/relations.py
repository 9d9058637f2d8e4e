"""A relation as a statement: what is said of one thing with regard to another."""

from __future__ import annotations

from muniment.memory.domain.memory import Fact
from muniment.memory.errors import BadInput

_MAX_CHARS = 120  # of a subject, a predicate or an object
_USER = frozenset({"user", "the user"})


def make_relation(subject: str, predicate: str, value: str, *, single: bool) -> tuple[str, Fact]:
    """Return the statement of a relation, and its fact: `depends_on` is read as "depends on".

    Raises BadInput for a part that is empty or too long."""
    who = _check_part("subject", subject)
    how = _check_part("predicate", predicate.replace("_", " "))
    what = _check_part("object", value)
    is_user = who.casefold() in _USER
    fact = Fact(
        kind="relationship",
        subject="user" if is_user else who,
        predicate=how.casefold(),
        object=what,
        entities=(what,) if is_user else (who, what),
        single=single,
    )
    return f"{'The user' if is_user else who} {how} {what}.", fact


def _check_part(name: str, text: str) -> str:
    part = " ".join(text.split()).rstrip(".")
    if not part:
        raise BadInput(f"{name}: empty; a name or words wanted")
    if len(part) > _MAX_CHARS:
        raise BadInput(f"{name}: {len(part):,} characters; at most {_MAX_CHARS} allowed")
    return part
