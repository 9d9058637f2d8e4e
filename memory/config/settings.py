"""Every setting, read once at the start: config/memory.yaml, the file of MUNIMENT_CONFIG over it, and the environment.

The only file that reads the environment. Nothing that is wrong here is guessed right: `load` refuses to start with one
line that names the file, the line and the key, and shows a value only by its shape, because it may be a secret."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, NoReturn, TypeVar, get_args

import platformdirs
from pydantic import Field, SecretStr, ValidationError

from muniment.memory.config.checks import check_embedders, check_forgetting, check_plugin, check_recall, check_spending
from muniment.memory.config.environment import DSN, Environment, is_dsn, is_one_word, is_url
from muniment.memory.config.plugin import PluginSettings
from muniment.memory.config.processes import (
    Checkpoints,
    CuratedFolder,
    Database,
    Gatewaying,
    Jobs,
    Proxying,
    Serving,
    Threads,
    Users,
)
from muniment.memory.config.recall import CallerSettings, RecallSettings
from muniment.memory.config.refusals import describe_refusal
from muniment.memory.config.schema import (
    Category,
    ConsentRules,
    Consolidation,
    DeltaHeader,
    EmbedderProfile,
    Episodes,
    FindGates,
    Forgetting,
    Insights,
    Ledger,
    Limits,
    ModelLimits,
    ObservationSettings,
    Procedures,
    RedactionSettings,
    ResourceSettings,
    SettingsPart,
    Spending,
    Texts,
    WritingSettings,
)
from muniment.memory.config.yaml_file import (
    KeyPath,
    YamlFile,
    build_refusal,
    describe_shape,
    format_key,
    parse_yaml,
    read_file,
    suggest_name,
)
from muniment.memory.domain.scope import OwnerType, Reader, Scope
from muniment.memory.errors import BadConfig

DEFAULT_EMBEDDER = "bge-small-en-v1.5-int8"
MULTILINGUAL_EMBEDDER = "multilingual-e5-small-q4"
HASH_EMBEDDER = "hash-256"
OPENAI = "openai:"
_SLUG = re.compile(r"[a-z][a-z0-9_]*")
_Section = TypeVar("_Section", bound=SettingsPart)


def format_embedder_setting(model: str) -> str:
    """What MUNIMENT_EMBEDDER has to be for the embedder that a database knows by its model's name."""
    return model if model in (DEFAULT_EMBEDDER, MULTILINGUAL_EMBEDDER, HASH_EMBEDDER) else OPENAI + model


class _Sections(SettingsPart):
    """What the settings have as the files say it."""

    limits: Limits
    recall: RecallSettings
    delta: DeltaHeader
    write: WritingSettings
    embedders: dict[str, EmbedderProfile]
    redact: RedactionSettings
    model: ModelLimits
    consent: ConsentRules
    spend: Spending
    episodes: Episodes
    insights: Insights
    consolidation: Consolidation
    forgetting: Forgetting
    session_ledger: Ledger
    threads: Threads
    checkpoints: Checkpoints
    finds: FindGates
    observations: ObservationSettings
    procedures: Procedures
    resources: ResourceSettings
    database: Database
    jobs: Jobs
    serve: Serving
    proxy: Proxying
    gateway: Gatewaying
    users: Users
    curated: CuratedFolder
    plugin: PluginSettings


SECTIONS = tuple(_Sections.model_fields)


class Settings(_Sections):
    """All settings. Make it with `load_settings`; for a variant use `model_copy(update=…)`.

    Those of an open memory take the sections that overrides in the database make."""

    categories: dict[str, Category]
    allowlists: dict[str, tuple[str, ...]]
    home: Path
    database_url: SecretStr | None = None
    owner_url: SecretStr | None = None
    checkpoints_url: SecretStr | None = None
    chat_model: str | None = None
    api_key: SecretStr | None = None
    base_url: str | None = None
    embedder: str = DEFAULT_EMBEDDER
    embedder_folder: Path
    tenant: str = "default"
    development: bool = False  # LangGraph's server takes requests of this machine without a token
    plugin_token: SecretStr | None = None  # of the server that `plugin.url` names
    agent_config: Path | None = None  # of the graph `hybrid`, and of `muniment agent` without --config

    def take_sections(self, others: Settings) -> None:
        """Take all sections of other settings, at once. Whoever holds these settings has them from now on."""
        self.__dict__.update({name: getattr(others, name) for name in SECTIONS})

    @property
    def is_embedded(self) -> bool:
        """Whether the memories are on the embedded server: no address names another one."""
        return self.database_url is None and self.owner_url is None

    def add_agents(self, agents: Mapping[str, Sequence[str]]) -> Settings:
        """Return the settings with these agents and the categories that each may read, in the place of those of the
        same name. Raises BadConfig for a category that there is not."""
        for agent, names in agents.items():
            place = f"agents: {format_key(agent) or 'an empty name'}"
            if isinstance(names, str) or not agent.strip():
                raise BadConfig(f"{place}: is {describe_shape(names)}; allowed: a name with a list of categories")
            for name in names:
                if name not in self.categories:
                    known = suggest_name(name, self.categories)
                    raise BadConfig(f"{place}: there is no category {format_key(name)}{known}")
        given = {agent: tuple(dict.fromkeys(names)) for agent, names in agents.items()}
        return self.model_copy(update={"allowlists": self.allowlists | given})

    def find_profile(self, name: str) -> EmbedderProfile:
        """The similarity profile of the embedder of this name, or the one called `default`. Of a token's embedder the
        model's name counts, which a digest follows."""
        return self.embedders.get(name) or self.embedders.get(name.rpartition("@")[0]) or self.embedders["default"]

    def make_owner_reader(self, scope: Scope, at: datetime | None = None) -> Reader:
        """Return the owner of a space as a reader, who may read every category."""
        return Reader(scope=scope, allowed=frozenset(self.categories), at=at)


def load_settings(environ: Mapping[str, str] | None = None) -> Settings:
    """The settings of this process; `environ` replaces `os.environ`.

    Raises `BadConfig` with one line: the file, the line and the key, or the environment variable, and what is
    allowed."""
    env = Environment(os.environ if environ is None else environ)
    default = parse_yaml("memory.yaml (default)", (files("muniment.config") / "memory.yaml").read_bytes())
    named = env.read_path("MUNIMENT_CONFIG")
    source = _Source(default, parse_yaml(str(named), read_file(named)) if named else None)
    try:
        content = _FileContent.model_validate(_drop_retired(source))
    except ValidationError as error:
        _raise_refusal(source, error)
    categories, allowlists = _read_categories(source, content), _read_allowlists(source, content)
    check_recall(content.recall, content.limits, source.build_error)
    check_forgetting(content.forgetting, categories, source.build_error)
    check_plugin(content.plugin, source.build_error)
    check_embedders(content.embedders, source.has_key, source.build_error)
    for check in (_check_redaction, _check_forgetting, _check_search_agents):
        check(source, content)
    model = env.read_text("MUNIMENT_MODEL")
    check_spending(content.spend, model, source.build_error)
    sections = {name: getattr(content, name) for name in SECTIONS}
    return Settings(
        **sections | {"spend": _mark_own_keys(source, "spend", content.spend)},
        categories=categories,
        allowlists=allowlists,
        home=env.read_path("MUNIMENT_HOME") or Path(platformdirs.user_data_dir("muniment")),
        database_url=env.read_secret("MUNIMENT_DATABASE_URL", is_dsn, DSN),
        owner_url=env.read_secret("MUNIMENT_OWNER_URL", is_dsn, DSN),
        checkpoints_url=env.read_secret("MUNIMENT_CHECKPOINTS_URL", is_dsn, DSN),
        chat_model=model,
        api_key=env.read_secret("OPENAI_API_KEY", is_one_word, "one word without spaces"),
        base_url=env.read_text("OPENAI_BASE_URL", is_url, "an http:// or https:// URL"),
        embedder=env.read_text("MUNIMENT_EMBEDDER", is_embedder_name, "a model's name, or openai:NAME")
        or DEFAULT_EMBEDDER,
        embedder_folder=env.read_path("MUNIMENT_EMBEDDER_FOLDER")
        or Path(platformdirs.user_cache_dir("muniment")) / "models" / DEFAULT_EMBEDDER,
        tenant=env.read_text("MUNIMENT_TENANT") or "default",
        development=env.read_text("MUNIMENT_DEVELOPMENT", ("0", "1").__contains__, "1 or 0") == "1",
        agent_config=env.read_path("MUNIMENT_AGENT_CONFIG"),
        plugin_token=env.read_secret("MUNIMENT_PLUGIN_TOKEN", is_one_word, "one word without spaces"),
    )


def get_environment() -> Mapping[str, str]:
    """Return the environment of this process."""
    return os.environ


def is_embedder_name(value: str) -> bool:
    """Whether this may be the name of an embedder: whether there is one, its maker knows."""
    return is_one_word(value) and value.partition(":")[0] != "" and value != OPENAI


# The files


@dataclass(frozen=True, slots=True)
class _Source:
    """Both files as one tree, and where each key of it was written."""

    default: YamlFile
    user: YamlFile | None

    @property
    def tree(self) -> dict[str, Any]:
        return _merge_trees(self.default.tree, self.user.tree) if self.user else self.default.tree

    def has_key(self, path: KeyPath) -> bool:
        return path in (self.user or self.default).lines

    def build_error(self, path: KeyPath, problem: str) -> BadConfig:
        file = self.user or self.default
        known = next((path[:size] for size in range(len(path), 0, -1) if path[:size] in file.lines), ())
        return build_refusal(file.name, file.lines.get(known, 1), path, problem)


def _merge_trees(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """`over` wins key by key; a list replaces a list."""
    both = base.keys() & over.keys()
    merged = {
        key: _merge_trees(base[key], over[key])
        for key in both
        if isinstance(base[key], dict) and isinstance(over[key], dict)
    }
    return base | over | merged


def _mark_own_keys(source: _Source, name: str, section: _Section) -> _Section:
    """The section with only the keys of the user's file in its `model_fields_set`, and none of the default file."""
    lines = source.user.lines if source.user else {}
    own = {key for key in type(section).model_fields if (name, key) in lines}
    return section.model_construct(own, **dict(section))


# Keys of former versions, which a file may still name. A key with a text accepts only 0 and off, and the text ends the
# refusal of any other value. A key with None accepts any value, since it has no effect by itself.
_RETIRED: dict[tuple[str, str], str | None] = {
    ("recall", "rerank"): "allowed: 0, since the reranker was removed; delete this key and recall.rerank_share",
    ("recall", "rerank_share"): None,
}


def _drop_retired(source: _Source) -> dict[str, Any]:
    """The tree of both files without the keys of former versions.

    Raises BadConfig if one of them asks for what was removed."""
    tree = dict(source.tree)
    for path, refused in _RETIRED.items():
        section, key = path
        part = tree.get(section)
        if not isinstance(part, dict) or key not in part:
            continue
        if refused is not None and part[key] not in (0, False):
            raise source.build_error(path, f"is {describe_shape(part[key])}; {refused}")
        tree[section] = {name: value for name, value in part.items() if name != key}
    return tree


# What the files must say


class _CustomCategory(Category):
    name: str


class _Categories(SettingsPart):
    system: dict[str, Category]
    custom: Annotated[tuple[_CustomCategory, ...], Field(strict=False)]


class _FileContent(_Sections):
    categories: _Categories
    allowlists: dict[str, Texts]


def _raise_refusal(source: _Source, errors: ValidationError) -> NoReturn:
    raise source.build_error(*describe_refusal(errors, partial(_list_siblings, source.default.tree)))


def _list_siblings(tree: dict[str, Any], path: KeyPath) -> Iterable[str]:
    """The keys that could stand where the last part of the path stands."""
    if path[:2] == ("categories", "custom"):
        return _CustomCategory.model_fields
    if path[:2] == ("categories", "system") and len(path) > len(("categories", "system", "slug")):
        return Category.model_fields
    if path[:1] == ("embedders",):
        return EmbedderProfile.model_fields
    if path[:2] == ("recall", "profiles"):
        return CallerSettings.model_fields
    for part in path[:-1]:
        tree = tree.get(str(part), {})
    return tree


def _read_categories(source: _Source, content: _FileContent) -> dict[str, Category]:
    found = dict(content.categories.system)
    paths: dict[str, KeyPath] = {slug: ("categories", "system", slug) for slug in found}
    for index, custom in enumerate(content.categories.custom):
        paths.setdefault(custom.name, path := ("categories", "custom", index, "name"))
        if custom.name in found:
            raise source.build_error(path, f"there is a category {format_key(custom.name)} already")
        found[custom.name] = Category.model_validate(custom.model_dump(exclude={"name"}))
    for slug, written in paths.items():
        if not _SLUG.fullmatch(slug):
            raise source.build_error(written, "is not a slug; allowed: a-z, 0-9 and _, beginning with a letter")
        if found[slug].context == "rag" and found[slug].rag_length is None:
            raise source.build_error(written, "context is rag; allowed: a rag_length of at least 1 with it")
    return found


def _read_allowlists(source: _Source, content: _FileContent) -> dict[str, tuple[str, ...]]:
    known = [*content.categories.system, *(custom.name for custom in content.categories.custom)]
    for agent, names in content.allowlists.items():
        for index, name in enumerate(names):
            if name not in known:
                path: KeyPath = ("allowlists", agent, index)
                raise source.build_error(path, f"there is no category {format_key(name)}{suggest_name(name, known)}")
    return {agent: tuple(dict.fromkeys(names)) for agent, names in content.allowlists.items()}


def _check_forgetting(source: _Source, content: _FileContent) -> None:
    owners, kinds = get_args(OwnerType), source.default.tree["forgetting"]["scopes"]
    for name in content.forgetting.scopes:
        owner, _, named = name.partition(":")
        if name not in kinds and not (owner in owners and named):
            scopes = [*kinds, *(f"{one}:NAME" for one in owners)]
            raise source.build_error(
                ("forgetting", "scopes", name), f"there is no scope {format_key(name)}{suggest_name(name, scopes)}"
            )


def _check_search_agents(source: _Source, content: _FileContent) -> None:
    if content.gateway.agent not in content.allowlists:
        raise source.build_error(("gateway", "agent"), f"has no allowlist: {content.gateway.agent!r}")
    for name in content.session_ledger.search_agents:
        if name not in content.allowlists:
            raise source.build_error(("session_ledger", "search_agents"), f"has no allowlist: {name!r}")


def _check_redaction(source: _Source, content: _FileContent) -> None:
    for index, pattern in enumerate(content.redact.patterns):
        path: KeyPath = ("redact", "patterns", index)
        try:
            empty = re.compile(pattern).match("") is not None
        except (re.error, OverflowError, RecursionError) as error:
            at = getattr(error, "pos", None)
            raise source.build_error(
                path, f"is not a regular expression{f' from character {at + 1} on' if at is not None else ''}"
            ) from error
        if empty:
            raise source.build_error(path, "matches the empty text, so it would match everywhere")
