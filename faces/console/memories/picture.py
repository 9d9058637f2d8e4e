"""A small picture of what a memory is related to: the closer, the stronger."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 320, 180  # in units of the picture
_CENTRE = (160, 90)
_NEAR, _FAR = 52.0, 74.0  # distances of the strongest and the weakest relation
_STRETCH = 1.85  # the picture is wider than high


@dataclass(frozen=True, slots=True)
class Spot:
    """A related memory in the picture: its number in the list, its place, and the width of its line."""

    number: int
    x: float
    y: float
    width: float


def place_spots(strengths: Sequence[float]) -> list[Spot]:
    """Return the places of related memories around the middle, in their order; a strength is in [0, 1]."""
    spots = []
    for n, strength in enumerate(strengths):
        angle = 2 * math.pi * n / len(strengths) - math.pi / 2
        distance = _FAR - (_FAR - _NEAR) * min(1.0, max(0.0, strength))
        spots.append(
            Spot(
                number=n + 1,
                x=round(_CENTRE[0] + _STRETCH * distance * math.cos(angle), 1),
                y=round(_CENTRE[1] + distance * math.sin(angle), 1),
                width=round(1 + 3 * min(1.0, max(0.0, strength)), 1),
            )
        )
    return spots
