"""`embedder switch` and `embedder status`: from one model that turns texts into vectors to another."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from muniment.faces.cli import options, session
from muniment.faces.cli.import_source import Source
from muniment.faces.cli.options import ME, AsJson, User
from muniment.faces.cli.output import screen
from muniment.memory.config.settings import Settings, embedder_setting, is_embedder, load
from muniment.memory.domain.embedding import Contrast, Held, Tally
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadConfig, BadInput, MunimentError

if TYPE_CHECKING:
    from muniment.memory.client import Switch
    from muniment.memory.ports.embedders import Embedder

embedder = typer.Typer(help="The model that turns texts into vectors.", no_args_is_help=True)
_SHOWN = 10
_FAILED = 1  # the exit code of a model that did not do


@embedder.command("switch")
def switch(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="The new embedder; else MUNIMENT_EMBEDDER's.")
    ] = None,
    sample: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Questions to compare by, one a line; else texts of up to 100 memories."),
    ] = None,
    user: User = ME,
    min_overlap: Annotated[
        float | None,
        typer.Option(metavar="SHARE", min=0.0, max=1.0, help="No cut-over when the mean overlap is below, e.g. 0.6."),
    ] = None,
    show: Annotated[int, typer.Option(metavar="N", min=0, help="Show at most so many differences.")] = _SHOWN,
    compare: Annotated[bool, typer.Option(help="Compare before the cut-over; asks both embedders.")] = True,
    compare_only: Annotated[
        bool, typer.Option("--compare-only", help="Compare, and stop before the cut-over.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Cut over without asking.")] = False,
    as_json: AsJson = False,
) -> None:
    """Give every memory a vector of another embedder, compare, and use that from then on.

    The new vectors are made beside those in use, and everything goes on meanwhile: queries, writes, imports. Then both
    embedders are asked the same questions; the overlap is the share of the ten best, by their vectors alone, that both
    find. The cut-over is one step for every process: one that still has the old embedder is refused by name until
    MUNIMENT_EMBEDDER names the new one. Interrupted, the same command goes on where it was. A switch to the embedder
    in use gives up another that was begun.

    --user says whose memories the questions of --sample are asked.

    For example:

      muniment embedder switch bge-small-en-v1.5-int8

      muniment embedder switch openai:text-embedding-3-small --sample questions.txt --user ana --min-overlap 0.6
    """
    if not compare and (sample is not None or compare_only or min_overlap is not None):
        raise BadInput("--no-compare goes with none of --sample, --compare-only and --min-overlap")
    if name is not None and not is_embedder(name):
        raise BadInput("NAME: a model's name, or openai:NAME wanted")
    settings = load()
    asked = _asked(settings, sample, user) if sample is not None else None
    settings = settings.model_copy(update={"embedder": name}) if name is not None else settings
    steps = _Steps(settings, asked, show=show, quiet=as_json)
    try:
        told = session.run(steps.run(compare=compare, least=min_overlap, stop=compare_only, ask=not yes))
    except (KeyboardInterrupt, typer.Abort, MunimentError) as error:
        if not as_json and type(error) is not BadConfig:  # with which nothing goes on
            steps.resume()
        raise
    if as_json:
        screen.show_json(told)
    if min_overlap is not None and told.get("mean", 1.0) < min_overlap:
        raise typer.Exit(_FAILED)


class _Steps:
    """One switch as it is shown: what is done, the comparison, the question, and how to go on."""

    def __init__(
        self, settings: Settings, asked: Sequence[tuple[Scope, str]] | None, *, show: int, quiet: bool
    ) -> None:
        self.settings, self.asked, self.show, self.quiet = settings, asked, show, quiet
        self.state = "nothing is changed"
        self._move: Callable[[int], None] = lambda _: None

    async def run(self, *, compare: bool, least: float | None, stop: bool, ask: bool) -> dict[str, Any]:
        """All of it; what became of it, as JSON."""
        memory = session.engine(self.settings)
        try:
            with screen.waiting("opening the database…", quiet=self.quiet):
                tally = await memory.embedders()
            async with memory.switch(self._moved) as switch:
                told: dict[str, Any] = {"embedder": self.settings.embedder, "texts": 0, "switched": not switch.due}
                await self._sweep(switch, tally, told)
                if switch.due and compare and tally.used is not None:
                    await self._compare(switch, tally.used, told)
                if switch.due and self._refused(told, least=least, stop=stop, ask=ask):
                    return told
                with screen.waiting("cutting over…", quiet=self.quiet):
                    await switch.cut_over()
                self.state = f"{memory.house.embedder.name} is in use"
                with screen.waiting("tidying…", quiet=self.quiet):
                    await switch.tidy()
        finally:
            await memory.close()
        told["switched"] = True
        self._say(
            f"{told['texts']:,} texts got a vector of {self.settings.embedder}; MUNIMENT_EMBEDDER must name it from now on."
        )
        return told

    def resume(self) -> None:
        """After an end in the middle: what is kept, and how to go on."""
        screen.aside(f"muniment: {self.state}; `muniment embedder switch {self.settings.embedder}` goes on from there")

    def _moved(self, count: int) -> None:
        self._move(count)

    async def _sweep(self, switch: Switch, tally: Tally, told: dict[str, Any]) -> None:
        self.state = f"what is done is kept, and {tally.used} is in use"
        left = tally.rows - tally.done if tally.next == switch.model else tally.rows
        with screen.progress("new vectors", left if switch.due else 0, quiet=self.quiet) as self._move:
            told["texts"] = await switch.sweep()

    async def _compare(self, switch: Switch, used: str, told: dict[str, Any]) -> None:
        former, state = _named(self.settings, used), self.state
        self.state += f" (--no-compare does without asking {used})"
        try:
            with screen.waiting(f"asking {used} and {switch.model}…", quiet=self.quiet):
                found = await switch.compare(former, self.asked)
        finally:
            await former.close()
        self.state = state
        told |= {"former": used, **switch.summary(found)}
        differing = sorted((one for one in found if one.overlap < 1), key=lambda one: (one.overlap, one.number))
        told["differences"] = [_told(one) for one in differing[: self.show]]
        if not self.quiet:
            self._show(used, switch.model, told, differing)

    def _refused(self, told: dict[str, Any], *, least: float | None, stop: bool, ask: bool) -> bool:
        """Whether the embedder that is in use has to stay."""
        if least is not None and told.get("mean", 1.0) < least:
            self._say(f"The mean overlap is below {least:.2f}: {self.state}.")
            return True
        if stop:
            self._say(f"Compared only: {self.state}.")
            return True
        if ask and least is None and screen.interactive() and sys.stdin.isatty() and not _agreed():
            self._say(f"Not switched: {self.state}.")
            return True
        return False

    def _show(self, used: str, following: str, told: dict[str, Any], differing: Sequence[Contrast]) -> None:
        screen.say(
            f"Of the 10 closest to each of {told['questions']} questions {used} and {following} share "
            f"{told['mean']:.0%} on average and {told['worst']:.0%} at worst."
        )
        rows = [
            (one.number, f"{one.overlap:.0%}", _words(one.question), _listed(one.only_used), _listed(one.only_next))
            for one in differing[: self.show]
        ]
        if rows:
            screen.show_table(("question", "overlap", "text", f"only {used}", f"only {following}"), rows, texts=3)

    def _say(self, text: str) -> None:
        if not self.quiet:
            screen.say(text)


def _agreed() -> bool:
    with screen.asking():
        return typer.confirm("Cut over?")


@embedder.command("status")
def status(as_json: AsJson = False) -> None:
    """Show the database's embedder, and how far a switch to another one is.

    For example:

      muniment embedder status --json
    """
    settings = load()

    async def work() -> Tally:
        memory = session.engine(settings)
        try:
            return await memory.embedders()
        finally:
            await memory.close()

    with screen.waiting("counting…", quiet=as_json):
        tally = session.run(work())
    share = tally.done / tally.rows if tally.rows else 1.0
    told = {
        "embedder": tally.used,
        "configured": settings.embedder,
        "switching_to": tally.next,
        "vectors": tally.rows,
        "done": tally.done,
        "share": round(share, 4),
        "to_tidy": tally.untidy,
    }
    if as_json:
        screen.show_json(told)
    else:
        screen.show_fields({key: "-" if value is None else value for key, value in told.items()})


def _asked(settings: Settings, file: str, user: str) -> list[tuple[Scope, str]]:
    """The questions of a file, one a line, as the user would ask them. Raises BadInput."""
    scope = session.scope_of(settings, user)
    source = Source(file)
    with source.opened() as held:
        lines = source.text(held.read()).splitlines()
    found = [(scope, options.words(line, "--sample")) for line in lines if line.strip()]
    if not found:
        raise BadInput(f"{screen.one_line(file)}: has no question; one a line is wanted")
    return found


def _named(settings: Settings, model: str) -> Embedder:
    """The embedder that a database knows by its model's name: without the endpoint's prefix."""
    # The bootstrap brings the database's driver and the embedder's libraries: nothing for `--help` to wait for.
    from muniment.memory import bootstrap  # noqa: PLC0415

    return bootstrap.make_embedder(settings.model_copy(update={"embedder": embedder_setting(model)}))


def _told(one: Contrast) -> dict[str, Any]:
    """A difference without a word of it: what goes into a file may be read by others."""
    return {
        "question": one.number,
        "user": one.scope.owner,
        "overlap": round(one.overlap, 4),
        "only_former": [str(held.id) for held in one.only_used],
        "only_next": [str(held.id) for held in one.only_next],
    }


def _words(text: str) -> str:
    """The text where its owner watches; in a pipe it is left out."""
    return text if screen.interactive() else ""


def _listed(held: Sequence[Held]) -> str:
    return "; ".join(_words(one.text) or screen.short(one.id) for one in held)
