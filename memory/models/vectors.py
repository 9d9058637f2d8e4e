"""Unit vectors."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from muniment.memory.domain.ids import Vector


def normalize_vector(vector: npt.NDArray[np.float32]) -> Vector:
    """Return the vector with length 1, or zero if it is zero; read-only, because the cache shares it."""
    norm = np.linalg.norm(vector.astype(np.float64))
    unit: Vector = (vector / norm if norm else vector).astype(np.float32)
    unit.setflags(write=False)
    return unit
