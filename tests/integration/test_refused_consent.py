"""What becomes of a statement when a person says no to its field, or says nothing."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

from muniment.memory.domain.ids import TurnId
from muniment.memory.domain.memory import Fact
from muniment.memory.domain.query import Query
from muniment.memory.domain.turn import Candidate
from muniment.testing.fakes import FixedClock
from tests.engine import NOON, engine, said, scope, settings
from tests.integration.test_consent import decisions, profile, waiting


async def test_a_no_takes_all_that_says_so_along(database_url: str) -> None:
    """The statement is in no list and no answer, nor is a note of the same words; it can be brought back, and what was
    said beside it stays."""
    async with engine(database_url) as memory:
        held = await memory.learn(scope(), said("I live in Porto. I work at Acme."))
        (request,) = held.consent_requests
        receipt = await memory.decide_consents(scope(), [request.id], approve=False)
        assert receipt.changes[0].action == "DELETE"
        assert [one.text for one in await memory.list(scope()) if "Porto" in one.text] == []
        assert any("Acme" in one.text for one in await memory.list(scope()))
        answer = await memory.query(scope(), "supervisor", Query(text="Where does the user live? Porto?"))
        assert "Porto" not in str([hit.memory.text for hit in answer.hits])
        await memory.restore(scope(), request.memory)
        assert [one.text for one in await memory.list(scope())].count("The user lives in Porto") == 1
        assert await profile(memory) == []


async def test_a_no_to_a_newer_value_keeps_the_older(database_url: str) -> None:
    """The statement has the approved value again, and is found by it."""
    async with engine(database_url) as memory:
        (request,) = (await memory.learn(scope(), said("I live in Porto."))).consent_requests
        await memory.decide_consents(scope(), [request.id], approve=True)
        (newer,) = (await memory.learn(scope(), said("I live in Lisbon."))).consent_requests
        assert await profile(memory) == []
        await memory.decide_consents(scope(), [newer.id], approve=False)
        assert await profile(memory) == ["city: Porto"]
        assert [one.text for one in await memory.list(scope())] == ["The user lives in Porto"]
        assert [one[:3] for one in await decisions(memory)] == [
            ("approved", "city", "Porto"),
            ("rejected", "city", "Lisbon"),
        ]
        answer = await memory.query(scope(), "supervisor", Query(text="Porto"))
        assert [hit.memory.text for hit in answer.hits] == ["The user lives in Porto"]


async def test_nobody_answers(database_url: str) -> None:
    """The statement stays, also beside an approved field that says otherwise: then the field is not shown."""
    clock = FixedClock(NOON)
    async with engine(database_url, clock=clock) as memory:
        (request,) = (await memory.learn(scope(), said("I live in Porto."))).consent_requests
        await memory.decide_consents(scope(), [request.id], approve=True)
        clock.advance(60)
        await memory.learn(scope(), said("I live in Lisbon.", at=clock.now()))
        for days in (0, 8):
            clock.advance(timedelta(days=days).total_seconds())
            await memory.jobs.expire_consents(scope())
            stable = (await memory.brief(scope(thread="P"), "supervisor", "Hello!")).stable.splitlines()
            assert stable == ["- [profile] The user lives in Lisbon"]
        assert await waiting(memory) == []


async def test_the_same_turn_does_not_bring_back_what_was_refused(database_url: str) -> None:
    """A model that reads the turn afterwards finds nothing in it that a person said no to; another turn may say it
    anew."""
    async with engine(database_url) as memory:
        turn = said("I live in Porto.")
        (request,) = (await memory.learn(scope(), turn)).consent_requests
        await memory.decide_consents(scope(), [request.id], approve=False)
        fact = Fact(kind="identity", predicate="city", object="Porto", single=True)
        found = Candidate(text="The user's city is Porto", category="profile", fact=fact, turns=(turn.id,))
        assert (await memory.keep_candidates(scope(), [found])).changes == ()
        assert await memory.list(scope()) == []
        again = replace(found, turns=(TurnId(uuid4()),))
        assert len((await memory.keep_candidates(scope(), [again])).changes) == 1


async def test_the_days_of_silence_are_a_setting(database_url: str) -> None:
    """`consent.again_days` holds whatever a request's own time is."""
    clock, tuned = FixedClock(NOON), settings(database_url)
    consent = tuned.consent.model_copy(update={"again_days": 2})
    async with engine(database_url, clock=clock, tuned=tuned.model_copy(update={"consent": consent})) as memory:
        (request,) = (await memory.learn(scope(), said("I live in Porto."))).consent_requests
        await memory.decide_consents(scope(), [request.id], approve=False)
        for days, asked in ((1.9, 0), (0.2, 1)):
            clock.advance(timedelta(days=days).total_seconds())
            assert (
                len((await memory.learn(scope(), said("I live in Porto.", at=clock.now()))).consent_requests) == asked
            )


async def test_an_answer_that_came_too_late(database_url: str) -> None:
    """What was decided in the meantime is not decided again, and its name in the answer is understood."""
    async with engine(database_url) as memory:
        receipt = await memory.learn(scope(), said("I live in Porto. My pronouns are she/her."))
        ids = {one.field: one.id for one in receipt.consent_requests}
        await memory.decide_consents(scope(), [ids["city"]], approve=True)
        answer = "yes to the pronouns, no to the city"
        told = await memory.conversation.answer_consents(scope(), list(ids.values()), answer)
        assert [(one.field, one.decision) for one in told] == [("pronouns", "approved")]
        assert await profile(memory) == ["pronouns: she/her", "city: Porto"]
        assert await memory.conversation.answer_consents(scope(), list(ids.values()), answer) == ()
