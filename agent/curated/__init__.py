"""The curated files: two small texts that the model keeps with one tool, and that a person can read and edit."""

from muniment.agent.curated.calls import CuratedCall, CuratedResult
from muniment.agent.curated.files import CuratedFiles
from muniment.agent.curated.snapshot import CuratedSnapshot, FileSnapshot

__all__ = ["CuratedCall", "CuratedFiles", "CuratedResult", "CuratedSnapshot", "FileSnapshot"]
