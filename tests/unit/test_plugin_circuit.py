"""The circuit breaker: open after failures in a row, then one request at a time."""

from __future__ import annotations

from muniment.plugin.stores.remote.circuit import Circuit

CLOSED = Circuit(failures_to_open=3, seconds=30)


def test_it_opens_after_failures_in_a_row() -> None:
    circuit = CLOSED.note_failure(0).note_failure(1).note_success().note_failure(2).note_failure(3)
    assert not circuit.is_open(3)
    circuit = circuit.note_failure(4)
    assert circuit.is_open(4)
    assert circuit.is_open(33.9)
    assert not circuit.is_open(34)


def test_one_request_tries_again() -> None:
    """While it is under way no other is sent; it closes the circuit or opens it again."""
    circuit = CLOSED.note_failure(0).note_failure(0).note_failure(0)
    trying = circuit.begin_request(30)
    assert trying.is_open(31)
    assert not trying.is_open(60), "a request that never ends holds up no other for ever"
    assert trying.note_failure(31).is_open(60)
    assert trying.note_success() == CLOSED
    assert not trying.note_cancellation().is_open(30)


def test_a_closed_one_is_not_changed_by_requests() -> None:
    assert CLOSED.begin_request(5) == CLOSED
    assert CLOSED.note_cancellation() == CLOSED
