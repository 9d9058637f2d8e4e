"""Identifiers and small types that every value of the domain uses."""

from __future__ import annotations

from typing import NewType, TypeAlias
from uuid import UUID

import numpy as np
import numpy.typing as npt

SpaceId = NewType("SpaceId", UUID)
MemoryId = NewType("MemoryId", UUID)
TurnId = NewType("TurnId", UUID)
Revision = NewType("Revision", int)
Vector: TypeAlias = npt.NDArray[np.float32]
RunId = NewType("RunId", UUID)
