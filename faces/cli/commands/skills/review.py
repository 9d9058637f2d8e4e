"""`skills publish` and `skills reject`: the answers to what waits."""

from __future__ import annotations

from muniment.faces.cli import session
from muniment.faces.cli.commands.skills.list import SkillId
from muniment.faces.cli.options import DEFAULT_USER, AsJson, User
from muniment.faces.cli.output import screen
from muniment.memory import codec
from muniment.memory.config.settings import load_settings
from muniment.memory.domain.plan import Receipt


def publish_skill(given: SkillId, user: User = DEFAULT_USER, as_json: AsJson = False) -> None:
    """Publish a skill that waits, or that was rejected: planner and executor read it from now on.

    One that was found for a goal that has a skill takes its place.

    For example:

      muniment skills publish 4f2a
    """
    _review_skill(given, user, publish=True, as_json=as_json)


def reject_skill(given: SkillId, user: User = DEFAULT_USER, as_json: AsJson = False) -> None:
    """Reject a skill that waits, or one that is published: nobody reads it, and the same work proposes it no more.

    For example:

      muniment skills reject 4f2a
    """
    _review_skill(given, user, publish=False, as_json=as_json)


def _review_skill(given: str, user: str, *, publish: bool, as_json: bool) -> None:
    settings = load_settings()
    scope = session.make_scope(settings, user)

    async def work() -> Receipt:
        async with session.open_memory(settings, quiet=as_json) as memory:
            return await memory.projections.review_skill(scope, given, publish=publish)

    receipt = session.run_async(work())
    if as_json:
        screen.print_json(codec.encode_receipt(receipt))
        return
    for change in receipt.changes:
        done = {"active": "published", "rejected": "rejected"}.get(change.after.state, "replaced")
        goal = change.after.text.split("\n", 1)[0]
        screen.print_line(f"{done} {screen.shorten_id(change.after.id)}  {goal}")
