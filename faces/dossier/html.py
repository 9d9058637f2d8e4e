"""A dossier as one HTML page that stands alone: no script, no address outside, every value escaped."""

from __future__ import annotations

from collections.abc import AsyncIterator
from html import escape
from importlib.resources import files

from muniment.faces.dossier.blocks import Block, Columns, Contents, Entry, Figures, Heading, Line, Paragraph, Title
from muniment.faces.wording.texts import Texts

_LANGUAGES = {"zh": "zh-Hans"}
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


async def render_html(blocks: AsyncIterator[Block], texts: Texts, user: str) -> AsyncIterator[bytes]:
    """Yield the page, a block at a time."""
    yield _begin_page(texts, user).encode()
    in_table = False
    async for block in blocks:
        ends_table = in_table and not isinstance(block, Line)
        in_table = isinstance(block, Columns | Line)
        yield (("</tbody></table>\n" if ends_table else "") + _render_block(block, texts)).encode()
    yield (("</tbody></table>\n" if in_table else "") + "</body>\n</html>\n").encode()


def _begin_page(texts: Texts, user: str) -> str:
    style = (files(__package__) / "style.css").read_text(encoding="utf-8")
    language = _LANGUAGES.get(texts.language, texts.language)
    return (
        f'<!doctype html>\n<html lang="{language}">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n<meta name="robots" content="noindex">\n'
        f"<title>{escape(texts('dossier.title', user=user))}</title>\n<style>\n{style}</style>\n</head>\n<body>\n"
    )


def _render_block(block: Block, texts: Texts) -> str:
    match block:
        case Title(text, below):
            return f'<h1>{escape(text)}</h1>\n<p class="hint">{escape(below)}</p>\n'
        case Heading(text, anchor, level):
            tag = f"h{level + 1}"
            return f'<{tag} id="{escape(anchor)}">{escape(text)}</{tag}>\n'
        case Paragraph(text, is_hint):
            mark = ' class="hint"' if is_hint else ""
            return f"<p{mark}>{escape(text)}</p>\n"
        case Contents(sections):
            return _render_contents(sections, texts)
        case Figures(rows):
            cells = "".join(f"<div><dt>{escape(what)}</dt><dd>{escape(number)}</dd></div>" for number, what in rows)
            return f'<dl class="figures">{cells}</dl>\n'
        case Entry():
            return _render_entry(block)
        case Columns(names):
            head = "".join(f'<th scope="col">{escape(name)}</th>' for name in names)
            return f"<table><thead><tr>{head}</tr></thead><tbody>\n"
        case Line(cells):
            row = "".join(f"<td>{escape(cell)}</td>" for cell in cells)
            return f"<tr>{row}</tr>\n"


def _render_contents(sections: tuple[tuple[str, str], ...], texts: Texts) -> str:
    name = escape(texts("dossier.contents"))
    links = "".join(f'<li><a href="#{escape(anchor)}">{escape(text)}</a></li>' for text, anchor in sections)
    return f'<nav aria-label="{name}"><b>{name}</b><ol>{links}</ol></nav>\n'


def _render_entry(entry: Entry) -> str:
    quotes = "".join(
        f"<blockquote><p>{escape(text)}</p><footer>{escape(who)}</footer></blockquote>" for text, who in entry.quotes
    )
    details = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in entry.details)
    return f"<article><p>{escape(entry.text)}</p>{quotes}<dl>{details}</dl></article>\n"
