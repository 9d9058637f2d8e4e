"""Unit vectors."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from muniment.memory.domain.ids import Vector


def _normalize_vector(vector: npt.NDArray[np.float32]) -> Vector:
    """Length 1."""
    return _freeze_vector((vector / np.linalg.norm(vector.astype(np.float64))).astype(np.float32))


def _freeze_vector(vector: Vector) -> Vector:
    """Read-only: it is shared with the cache."""
    vector.setflags(write=False)
    return vector
