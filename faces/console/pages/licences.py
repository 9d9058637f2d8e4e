"""What the console has from others, and under which licences."""

from __future__ import annotations

from importlib.resources import files

from starlette.responses import Response
from starlette.routing import Route

from muniment.faces import console
from muniment.faces.console.static_files import list_vendored
from muniment.faces.console.visits import Visit, make_page


async def show_licences(visit: Visit) -> Response:
    """Show the files of others with their versions and licences."""
    texts = (files(console) / "static" / "licences.txt").read_text(encoding="utf-8")
    return visit.render_page("licences.html", vendored=list_vendored(), licence_texts=texts)


routes: list[Route] = [make_page("/licences", show_licences, needs_user=False)]
