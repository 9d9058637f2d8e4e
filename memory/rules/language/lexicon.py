"""Word lists of the rules: YAML files in `lexicons/`, one for each topic and language, each with its source.

Every list is a block scalar (`name: |`), because YAML reads a bare `no`, `on` or `403` as something other than text."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from muniment.memory.config.yaml_file import YamlFile, build_refusal, parse_yaml, suggest_name

_FOLDER = files(__package__) / "lexicons"
_SUFFIX = ".yaml"


@dataclass(frozen=True, slots=True)
class Lexicon:
    """The sections of one file. Its methods raise LookupError for an unknown section, BadConfig for a malformed one."""

    file: YamlFile

    def get_text(self, section: str) -> str:
        """A section as it is written."""
        if section not in self.file.tree:
            raise LookupError(f"{self.file.name} has no section {section!r}{suggest_name(section, self.file.tree)}")
        text = self.file.tree[section]
        if not isinstance(text, str) or not text.strip():
            raise build_refusal(self.file.name, self.file.lines[section,], (section,), "must be text; write `name: |`")
        return text

    def get_words(self, section: str) -> frozenset[str]:
        """The words of a section, which white space separates."""
        return frozenset(self.get_text(section).split())

    def get_phrases(self, section: str) -> tuple[str, ...]:
        """The lines of a section in order, for entries of more than one word."""
        return tuple(line for line in map(str.strip, self.get_text(section).splitlines()) if line)

    def get_table(self, section: str, separator: str | None = None) -> dict[str, tuple[str, ...]]:
        """The rows `name: word word` of a section in order. A line that is indented further continues its row.

        A separator such as `,` allows entries of more than one word. Raises BadConfig for a row without a name and for
        a name that comes twice."""
        table: dict[str, tuple[str, ...]] = {}
        last = ""
        for line, row in enumerate(self.get_text(section).splitlines(), self.file.lines[section,] + 1):
            name, colon, entries = row.partition(":")
            if row[:1].isspace() and last:
                name, entries = last, row
            elif row and (not colon or not name or name in table):
                raise build_refusal(self.file.name, line, (section,), "needs rows `name: words`, each name once")
            if row.strip():
                added = (entry.strip() for entry in entries.split(separator))
                table[name] = (*table.get(name, ()), *filter(None, added))
                last = name
        return table

    def get_index(self, section: str, separator: str | None = None) -> dict[str, str]:
        """A table the other way round: the name of every entry. Raises BadConfig for an entry that comes twice."""
        index: dict[str, str] = {}
        for name, entries in self.get_table(section, separator).items():
            for entry in entries:
                if index.setdefault(entry, name) is not name or entries.count(entry) > 1:
                    line = self.file.lines[section,]
                    raise build_refusal(self.file.name, line, (section,), f"has {entry!r} twice")
        return index


def parse_lexicon(name: str, content: bytes) -> Lexicon:
    """The lexicon that a YAML file holds. Raises BadConfig where it is not YAML or does not name its source."""
    lexicon = Lexicon(parse_yaml(f"lexicons/{name}{_SUFFIX}", content))
    if "source" not in lexicon.file.tree:
        raise build_refusal(lexicon.file.name, 1, ("source",), "is missing; say where the words come from")
    return lexicon


@cache
def load_lexicon(name: str) -> Lexicon:
    """The lexicon of that name, such as `stop_words.en`. It is read once.

    Raises LookupError where there is no such file, and BadConfig where it is malformed."""
    if name not in list_lexicons():
        raise LookupError(f"There is no lexicon {name!r}{suggest_name(name, list_lexicons())}")
    return parse_lexicon(name, (_FOLDER / f"{name}{_SUFFIX}").read_bytes())


@cache
def list_lexicons() -> tuple[str, ...]:
    """The names of all lexicons, sorted."""
    return tuple(sorted(item.name.removesuffix(_SUFFIX) for item in _FOLDER.iterdir() if item.name.endswith(_SUFFIX)))
