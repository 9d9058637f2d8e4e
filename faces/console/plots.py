"""Plots as shapes in SVG, drawn by the server: they need no script, and are read without colour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

WIDTH, HEIGHT = 300, 72  # of the box that a plot is drawn in; the page stretches it
_GAP_SHARE = 0.25  # between two bars, of the room that each has


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """Numbers over time as paths of SVG: the outline, and the area below it."""

    outline: str
    area: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A part of a stack of bars: its place in the stack from 0, and its box."""

    part: int
    x: float
    y: float
    width: float
    height: float


def draw_line(values: Sequence[int]) -> Line:
    """Return the line of numbers that are not negative, the highest at the top. One number is a level line."""
    points = values if len(values) > 1 else [*values, *values]
    top = max(points, default=0) or 1
    step = WIDTH / max(1, len(points) - 1)
    # Half a unit is left at each edge, so that the stroke is whole.
    places = [f"{n * step:.1f},{HEIGHT - 0.5 - (HEIGHT - 1) * value / top:.1f}" for n, value in enumerate(points)]
    outline = f"M{' L'.join(places)}" if places else ""
    return Line(outline=outline, area=f"{outline} L{WIDTH},{HEIGHT} L0,{HEIGHT} Z" if places else "")


def draw_stacks(stacks: Sequence[Sequence[int]]) -> Sequence[Bar]:
    """Return the bars of stacks of numbers beside each other, the first number of each at the bottom, and the highest
    stack at the top."""
    top = max(map(sum, stacks), default=0) or 1
    room = WIDTH / max(1, len(stacks))
    return [
        Bar(
            part=part,
            x=round(place * room + room * _GAP_SHARE / 2, 2),
            y=round(HEIGHT - HEIGHT * upto / top, 2),
            width=round(room * (1 - _GAP_SHARE), 2),
            height=round(HEIGHT * value / top, 2),
        )
        for place, stack in enumerate(stacks)
        for part, (value, upto) in enumerate(zip(stack, accumulate(stack), strict=True))
        if value
    ]
