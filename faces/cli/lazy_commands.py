"""The commands of the root group: each is imported when it is called, so that `muniment --help` imports none."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_group

_PACKAGE = "muniment.faces.cli.commands"

# Name -> the module below `commands` with its function, and the first sentence of the function's help.
COMMANDS: Mapping[str, tuple[str, str]] = {
    "chat": ("chat:run_chat", "Talk with the supervisor, who remembers."),
    "agent": ("agent:app", "Talk with an agent that has curated files, and a memory gateway beside them."),
    "query": (
        "memories.query:query_memory",
        "Ask the memory, as one of the agents asks it with its tool `memory.query`.",
    ),
    "why-not": (
        "memories.why_not:explain_absence",
        (
            "Say why a memory is not in the answer to a query: the first reason that decides, or its place when it is "
            "in it."
        ),
    ),
    "bisect": (
        "memories.bisect:bisect_reply",
        "Find which remembered statements made a reply: make it again with fewer and fewer of them.",
    ),
    "remember": ("memories.remember:remember_statement", "Remember a statement."),
    "relate": ("memories.relate:relate_things", "Keep how one thing stands to another."),
    "list": ("memories.list:list_memories", "List the memories of a user, newest change first."),
    "show": ("memories.show:show_memory", "Show one memory with all that is known about it, whatever its state."),
    "history": ("memories.history:show_history", "Show what happened to a memory, or to all of them, newest first."),
    "changes": ("memories.changes:show_changes", "Show what has changed since a revision, oldest first."),
    "pin": ("memories.pin:pin_memory", "Pin a memory: it ranks higher and its changes are told first."),
    "unpin": ("memories.pin:unpin_memory", "Take the pin off a memory."),
    "alias": ("memories.alias:change_aliases", "Give a memory other names of what it is about, by which it is found."),
    "edit": ("memories.edit:edit_memory", "Change a memory by hand."),
    "forget": (
        "memories.forget:forget_memory",
        "Forget a memory: it is in no answer any more, and can be restored for write.soft_delete_days (30).",
    ),
    "restore": (
        "memories.restore:restore_memory",
        "Bring a forgotten memory back, or with --version what a memory said at a revision of `muniment history`.",
    ),
    "inbox": ("inbox:app", "What waits for you, whatever its kind: the list, the answers, and taking them back."),
    "erase": (
        "erasure.erase:erase_user",
        "Erase a user for good: memories, history, what was said, jobs, tokens, and the checkpoints of every thread.",
    ),
    "scrub": (
        "erasure.scrub:scrub_files",
        "Rewrite the database's files without what was erased, forgotten and purged, or pruned.",
    ),
    "import": ("transfer.import_file:import_file", "Read memories from a file."),
    "export": (
        "transfer.export_file:export_file",
        "Write all of a user's memory as JSON lines: memories, former versions, history, relations, what was said.",
    ),
    "dossier": (
        "transfer.dossier:write_person_file",
        "Write everything known of a person, in plain words: an answer to a request for access as it stands.",
    ),
    "verify": (
        "evidence.verify:verify_journals",
        "Verify that nobody changed a memory behind its back, and name the first revision that somebody did.",
    ),
    "anchor": (
        "evidence.anchor:app",
        "Where the journals end, signed: a file to keep elsewhere, which shows a journal that was cut or replaced.",
    ),
    "check": (
        "check:check_memory",
        "Check what memory keeps and finds against files that say it.",
    ),
    "consolidate": (
        "maintenance.consolidate:run_consolidation",
        "Find memories that say the same, or that a later one has outdated, and let one of each two stay.",
    ),
    "work": (
        "maintenance.work:run_worker",
        (
            "Do background jobs: let a model look at what was said, and tend the memories of every user while "
            "nobody looks."
        ),
    ),
    "serve": ("serve:serve_memory", "Serve the memory over HTTP, with a worker inside."),
    "console": (
        "console:open_console",
        "Open the console in a browser: what is known, where it came from, and what happens.",
    ),
    "gateway": ("gateway:app", "Serve the memory to hosts of agents over three routes, with a worker inside."),
    "proxy": ("proxy:app", "Memory between any OpenAI client and its model provider."),
    "mcp": (
        "mcp:serve_mcp",
        "Give your memory to a program that speaks MCP, which starts this command and talks over its input and output.",
    ),
    "index": (
        "maintenance.index:build_indexes",
        "Make the indexes of a large memory, or bring them up to date; from recall.index_from memories on.",
    ),
    "refile": (
        "maintenance.refile:refile_memories",
        "Move memories of former versions to the category that facts of their kind have now.",
    ),
    "migrate": ("database.migrate:migrate_database", "Bring the database's tables up to date."),
    "grant": (
        "database.grant:grant_login",
        "Give a login of your own Postgres what the engine needs, and nothing else.",
    ),
    "status": (
        "database.status:show_status",
        "Show the database, the embedder and what a user's memory holds, and when it was last tended.",
    ),
    "stop": ("database.stop:stop_database", "Stop the embedded database."),
    "embedder": ("embedder:app", "The model that turns texts into vectors."),
    "consent": (
        "consent:app",
        "What waits for your yes: changes of your profile, and instructions found in somebody else's text.",
    ),
    "projections": (
        "projections:app",
        "What the memories say slot by slot: the profile, the episodes, the skills.",
    ),
    "skills": ("skills:app", "How things are done, as agents have found out: what waits for your review."),
    "stats": (
        "stats:app",
        "Count what the memory of a user did by day, node and operation, and show what changed and when.",
    ),
    "plugin": ("plugin:app", "Memory for any host by three hooks: how it is set up, and what a policy would do."),
    "sessions": ("sessions:app", "What was said, session by session."),
    "share": ("share:app", "Who may read the memory of a project or an agent beside their own."),
    "local": ("local:app", "The file in which the plugin keeps what it remembers on this machine."),
    "curated": ("curated:app", "The two files that an agent keeps: what it has noted, and what it knows about you."),
    "config": ("config:app", "The settings of each stage, which running processes follow when they change."),
    "token": ("token:app", "What a program shows to say for whom it asks."),
    "checkpoints": ("checkpoints:app", "Prune the state of threads, or bring it from another saver."),
}


class LazyGroup(TyperGroup):
    """A group whose commands stand for `COMMANDS` in its help; the one that is called is loaded first."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """The command that `args` name, loaded, and the rest of them. Raises typer's UsageError for an unknown one."""
        name, _, rest = super().resolve_command(ctx, args)
        return name, load_command(str(name)), rest


def add_commands(app: typer.Typer) -> None:
    """Give the app a command without parameters for each of `COMMANDS`."""
    for name, (_, summary) in COMMANDS.items():
        app.command(name, help=summary)(lambda: None)


def load_command(name: str) -> Any:
    """Import the module of this command and make the command, or the group of commands."""
    module, _, attribute = COMMANDS[name][0].partition(":")
    command = getattr(import_module(f"{_PACKAGE}.{module}"), attribute)
    parent = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    if isinstance(command, typer.Typer):
        parent.add_typer(command, name=name)
    else:
        parent.command(name)(command)
    return get_group(parent).commands[name]
