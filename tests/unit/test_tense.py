"""A date without a year is that of the tense of its clause."""

from datetime import UTC, datetime

import pytest

from muniment.memory.rules.dates import mentions

AT = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)  # a Monday


@pytest.mark.parametrize(
    ("text", "day", "written"),
    [
        ("We booked a table for 3 April", "2024-04-03", "We booked a table for 3 April 2024"),
        ("I booked a table for Friday", "2023-05-12", "I booked a table for 12 May 2023"),
        ("I booked a table on Friday", "2023-05-05", "I booked a table on 5 May 2023"),
        ("We decided to move by April", "2024-04-01", "We decided to move by April 2024"),
        ("The flat was booked in April", "2023-04-01", "The flat was booked in April 2023"),
        ("I row since April", "2023-04-01", "I row since April 2023"),
        (
            "We will row in April, and we met in June",
            "2024-04-01",
            "We will row in April 2024, and we met in June 2022",
        ),
        ("我订了4月3日的机票", "2024-04-03", "我订了2024年4月3日的机票"),
    ],
)
def test_a_date_goes_by_its_clause(text: str, day: str, written: str) -> None:
    """What is booked is still to come; a clause without a tense goes by its sentence."""
    assert mentions.resolve_date(text, AT) == datetime.fromisoformat(day).replace(tzinfo=UTC)
    assert mentions.expand_dates(text, AT) == written


def test_each_of_many_dates_goes_by_its_own_clause() -> None:
    """Also in a text that is nothing but dates."""
    found = mentions.find_mentions("In June we rowed. In April we will row. " * 100, AT)
    assert [mention.when.start.year for mention in found] == [2022, 2024] * 100
