"""The tables of the book, as numbered SQL files."""

from muniment.plugin.stores.local.migrations import SchemaPart

BOOK = SchemaPart("book", __name__)
