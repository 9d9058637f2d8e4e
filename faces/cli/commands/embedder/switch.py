"""`embedder switch`: from one model that turns texts into vectors to another."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from muniment.faces.cli import options, session
from muniment.faces.cli.commands.embedder.spaces import SwitchTenant, SwitchUser, format_spaces, read_spaces
from muniment.faces.cli.import_source import ImportSource
from muniment.faces.cli.options import DEFAULT_USER, AsJson
from muniment.faces.cli.output import screen, terminal
from muniment.memory.config.settings import Settings, is_embedder_name, load_settings
from muniment.memory.domain.embedding import MemoryText, SearchComparison, SwitchProgress, SwitchRange
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadConfig, BadInput, MunimentError

if TYPE_CHECKING:
    from muniment.memory.client import EmbedderSwitch
    from muniment.memory.ports.embedders import Embedder


_MAX_SHOWN = 10
_OVERLAP_FAILED_CODE = 1  # the exit code below --min-overlap


def switch_embedder(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="The new embedder; else MUNIMENT_EMBEDDER's.")
    ] = None,
    sample: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Questions to compare by, one a line; else texts of up to 100 memories."),
    ] = None,
    user: SwitchUser = None,
    tenant: SwitchTenant = None,
    sample_user: Annotated[
        str | None, typer.Option(metavar="NAME", help="Whose memories --sample asks; else --user, else me.")
    ] = None,
    min_overlap: Annotated[
        float | None,
        typer.Option(metavar="SHARE", min=0.0, max=1.0, help="No cut-over when the mean overlap is below, e.g. 0.6."),
    ] = None,
    show: Annotated[int, typer.Option(metavar="N", min=0, help="Show at most so many differences.")] = _MAX_SHOWN,
    compare: Annotated[bool, typer.Option(help="Compare before the cut-over; asks both embedders.")] = True,
    compare_only: Annotated[
        bool, typer.Option("--compare-only", help="Compare, and stop before the cut-over.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Cut over without asking.")] = False,
    as_json: AsJson = False,
) -> None:
    """Give memories vectors of another embedder, compare, and use that from then on.

    Without --user and --tenant it is of the whole database. The new vectors are made beside those in use, and
    everything goes on meanwhile. Then both embedders are asked the same questions; the overlap is the share of the
    ten best, by their vectors alone, that both find. The cut-over is one step for each user: a process that cannot
    make the new embedder is refused, and one that is started later has to name the database's. Interrupted, the same
    command goes on where it was. A switch to the embedder in use gives up another.

    For example:

      muniment embedder switch openai:text-embedding-3-small --sample questions.txt --min-overlap 0.6

      muniment embedder switch multilingual-e5-small-q4 --user ana
    """
    if not compare and (sample is not None or compare_only or min_overlap is not None):
        raise BadInput("--no-compare goes with none of --sample, --compare-only and --min-overlap")
    if name is not None and not is_embedder_name(name):
        raise BadInput("NAME: a model's name, or openai:NAME wanted")
    settings = load_settings()
    spaces = read_spaces(settings, user, tenant)
    questions = _read_questions(settings, sample, sample_user or user or DEFAULT_USER) if sample is not None else None
    settings = settings.model_copy(update={"embedder": name}) if name is not None else settings
    steps = _SwitchSteps(settings, spaces, questions, max_shown=show, quiet=as_json)
    try:
        report = session.run_async(
            steps.run(compare=compare, min_overlap=min_overlap, compare_only=compare_only, needs_confirmation=not yes)
        )
    except (KeyboardInterrupt, typer.Abort, MunimentError) as error:
        if not as_json and type(error) is not BadConfig:  # with which nothing goes on
            steps.print_resume_hint()
        raise
    if as_json:
        screen.print_json(report)
    if min_overlap is not None and report.get("mean", 1.0) < min_overlap:
        raise typer.Exit(_OVERLAP_FAILED_CODE)


class _SwitchSteps:
    """The steps of one switch with their output: new vectors, the comparison, the question, the cut-over."""

    def __init__(
        self,
        settings: Settings,
        spaces: SwitchRange,
        questions: Sequence[tuple[Scope, str]] | None,
        *,
        max_shown: int,
        quiet: bool,
    ) -> None:
        self.settings, self.spaces, self.questions = settings, spaces, questions
        self.max_shown, self.quiet = max_shown, quiet
        self.state = "nothing is changed"
        self._on_progress: Callable[[int], None] = lambda _: None

    async def run(
        self, *, compare: bool, min_overlap: float | None, compare_only: bool, needs_confirmation: bool
    ) -> dict[str, Any]:
        """Do all steps; a report as JSON. Raises BadConfig, StoreError, ModelError."""
        memory = session.create_memory(self.settings)
        try:
            with terminal.show_spinner("opening the database…", quiet=self.quiet):
                tally = await memory.admin.read_switch_progress(self.spaces)
            async with memory.admin.switch_embedder(self._advance, spaces=self.spaces) as switch:
                report: dict[str, Any] = {"embedder": self.settings.embedder, "texts": 0, "switched": not switch.is_due}
                await self._embed_texts(switch, tally, report)
                if switch.is_due and compare and tally.used is not None:
                    await self._compare_embedders(switch, tally.used, report)
                if switch.is_due and self._is_refused(
                    report, min_overlap=min_overlap, compare_only=compare_only, needs_confirmation=needs_confirmation
                ):
                    return report
                with terminal.show_spinner("cutting over…", quiet=self.quiet):
                    await switch.activate_embedder()
                self.state = f"{memory.engine.embedder.name} is in use"
                with terminal.show_spinner("tidying…", quiet=self.quiet):
                    await switch.move_vectors()
        finally:
            await memory.close()
        report["switched"] = True
        self._print_line(
            f"{report['texts']:,} texts got a vector of {self.settings.embedder}"
            + ("; MUNIMENT_EMBEDDER must name it from now on." if self.spaces.is_database else ".")
        )
        return report

    def print_resume_hint(self) -> None:
        """Say after an interruption what is stored, and how to go on."""
        screen.print_stderr(
            f"muniment: {self.state}; `muniment embedder switch {self.settings.embedder}{format_spaces(self.spaces)}` "
            "goes on from there"
        )

    def _advance(self, count: int) -> None:
        self._on_progress(count)

    async def _embed_texts(self, switch: EmbedderSwitch, tally: SwitchProgress, report: dict[str, Any]) -> None:
        self.state = f"what is done is kept, and {tally.used} is in use"
        left = tally.rows - tally.done if tally.next == switch.model_name else tally.rows
        with terminal.show_progress("new vectors", left if switch.is_due else 0, quiet=self.quiet) as self._on_progress:
            report["texts"] = await switch.embed_missing()

    async def _compare_embedders(self, switch: EmbedderSwitch, current: str, report: dict[str, Any]) -> None:
        former, state = _make_embedder(self.settings, current), self.state
        self.state += f" (--no-compare does without asking {current})"
        try:
            with terminal.show_spinner(f"asking {current} and {switch.model_name}…", quiet=self.quiet):
                contrasts = await switch.compare_answers(former, self.questions)
        finally:
            await former.close()
        self.state = state
        report |= {"former": current, **switch.summarize_contrasts(contrasts)}
        differing = sorted(
            (contrast for contrast in contrasts if contrast.overlap < 1),
            key=lambda contrast: (contrast.overlap, contrast.number),
        )
        report["differences"] = [_contrast_to_json(contrast) for contrast in differing[: self.max_shown]]
        if not self.quiet:
            self._print_comparison(current, switch.model_name, report, differing)

    def _is_refused(
        self, report: dict[str, Any], *, min_overlap: float | None, compare_only: bool, needs_confirmation: bool
    ) -> bool:
        """Whether the embedder that is in use stays."""
        if min_overlap is not None and report.get("mean", 1.0) < min_overlap:
            self._print_line(f"The mean overlap is below {min_overlap:.2f}: {self.state}.")
            return True
        if compare_only:
            self._print_line(f"Compared only: {self.state}.")
            return True
        if (
            needs_confirmation
            and min_overlap is None
            and screen.is_interactive()
            and sys.stdin.isatty()
            and not _confirm_cut_over()
        ):
            self._print_line(f"Not switched: {self.state}.")
            return True
        return False

    def _print_comparison(
        self, current: str, next_model: str, report: dict[str, Any], differing: Sequence[SearchComparison]
    ) -> None:
        screen.print_line(
            f"Of the 10 closest to each of {report['questions']} questions {current} and {next_model} share "
            f"{report['mean']:.0%} on average and {report['worst']:.0%} at worst."
        )
        rows = [
            (
                contrast.number,
                f"{contrast.overlap:.0%}",
                _hide_piped_text(contrast.question),
                _format_texts(contrast.only_used),
                _format_texts(contrast.only_next),
            )
            for contrast in differing[: self.max_shown]
        ]
        if rows:
            terminal.print_table(
                ("question", "overlap", "text", f"only {current}", f"only {next_model}"), rows, text_columns=3
            )

    def _print_line(self, text: str) -> None:
        if not self.quiet:
            screen.print_line(text)


def _confirm_cut_over() -> bool:
    with screen.interruptible_prompt():
        return typer.confirm("Cut over?")


def _read_questions(settings: Settings, file: str, user: str) -> list[tuple[Scope, str]]:
    """The questions of a file, one a line, as the user would ask them. Raises BadInput."""
    scope = session.make_scope(settings, user)
    source = ImportSource(file)
    with source.open_file() as opened:
        lines = source.decode_text(opened.read()).splitlines()
    questions = [(scope, options.check_text(line, "--sample")) for line in lines if line.strip()]
    if not questions:
        raise BadInput(f"{screen.join_lines(file)}: has no question; one a line is wanted")
    return questions


def _make_embedder(settings: Settings, model: str) -> Embedder:
    """The embedder that a database knows by its model's name: without the endpoint's prefix."""
    # The bootstrap brings the database's driver and the embedder's libraries: nothing for `--help` to wait for.
    from muniment.memory import bootstrap  # noqa: PLC0415

    return bootstrap.make_stored_embedder(settings, model)


def _contrast_to_json(contrast: SearchComparison) -> dict[str, Any]:
    """A difference without its texts: others may read the file that it goes to."""
    return {
        "question": contrast.number,
        "user": contrast.scope.owner,
        "overlap": round(contrast.overlap, 4),
        "only_former": [str(memory.id) for memory in contrast.only_used],
        "only_next": [str(memory.id) for memory in contrast.only_next],
    }


def _hide_piped_text(text: str) -> str:
    """The text on a terminal; nothing in a pipe."""
    return text if screen.is_interactive() else ""


def _format_texts(memories: Sequence[MemoryText]) -> str:
    return "; ".join(_hide_piped_text(memory.text) or screen.shorten_id(memory.id) for memory in memories)
