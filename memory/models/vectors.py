"""Unit vectors."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from muniment.memory.domain.ids import Vector


def _unit(vector: npt.NDArray[np.float32]) -> Vector:
    """Length 1."""
    return _fixed((vector / np.linalg.norm(vector.astype(np.float64))).astype(np.float32))


def _fixed(vector: Vector) -> Vector:
    """Read-only: it is shared with the cache."""
    vector.setflags(write=False)
    return vector
