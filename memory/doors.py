"""The doors of a memory by theme: what its operator, its worker and its readers of sessions and projections call."""

from __future__ import annotations

from muniment.memory.admin import Admin
from muniment.memory.configuration import Configuration
from muniment.memory.engine import Engine
from muniment.memory.host_items import HostItems
from muniment.memory.jobs import Jobs
from muniment.memory.projections import Projections
from muniment.memory.resources import Resources
from muniment.memory.sessions import Sessions


class Doors:
    """What leads to the calls of each theme, all over one engine."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    @property
    def admin(self) -> Admin:
        """Consolidation, erasure, indexes, the embedder, usage and maintenance."""
        return Admin(self.engine)

    @property
    def projections(self) -> Projections:
        """What the memories say slot by slot: profile, episodes, skills."""
        return Projections(self.engine)

    @property
    def host_items(self) -> HostItems:
        """What hosts keep under ids of their own."""
        return HostItems(self.engine)

    @property
    def resources(self) -> Resources:
        """The documents that were taken in."""
        return Resources(self.engine)

    @property
    def sessions(self) -> Sessions:
        """What was said, session by session."""
        return Sessions(self.engine)

    @property
    def configuration(self) -> Configuration:
        """The settings by stages, and what changes them."""
        return Configuration(self.engine)

    @property
    def jobs(self) -> Jobs:
        """The background jobs."""
        return Jobs(self.engine)
