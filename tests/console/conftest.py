"""The console of `muniment serve` on a real port, a signed-in client of it, and a real browser."""

from collections.abc import Iterator

import httpx
import pytest

from tests.console.browser import Browser, open_chromium
from tests.console.visitor import sign_in
from tests.http.conftest import Serving, environment, operated, own_serving, serving, shared

__all__ = ["environment", "operated", "own_serving", "serving", "shared"]


@pytest.fixture
def ana(serving: Serving) -> Iterator[httpx.Client]:
    """A client that is logged in with a token of the user ana, who may do all."""
    with sign_in(serving, owner="ana", scopes=("admin",)) as client:
        yield client


@pytest.fixture
def operator(serving: Serving) -> Iterator[httpx.Client]:
    """A client that is logged in with an operator's token."""
    with sign_in(serving, owner=None, scopes=("admin",)) as client:
        yield client


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """A browser; the test is skipped, with the reason, where there is none.

    Its driver runs an event loop in this thread until the end of the module, which therefore has no asynchronous test
    of its own."""
    with open_chromium() as browser:
        yield browser
