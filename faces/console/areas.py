"""The areas of the console, as its navigation has them."""

from __future__ import annotations

from dataclasses import dataclass

from muniment.faces.console.rendering import make_address
from muniment.memory.domain.scope import Permission


@dataclass(frozen=True, slots=True, kw_only=True)
class Area:
    """A place in the navigation: the text `base.area.NAME`, the path of its page, and its place from the left."""

    name: str
    path: str
    place: int
    permission: Permission = "read"  # a token without it sees no link
    for_operators: bool = False  # only who operates the installation sees the link
    for_whole_tokens: bool = False  # a token of some agents, which may not read every category, sees no link

    def is_current(self, path: str) -> bool:
        """Whether the address of a page is in this area."""
        address = make_address(self.path)
        return path == address or (self.path != "/" and path.startswith(f"{address}/"))
