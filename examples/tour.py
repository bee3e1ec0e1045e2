"""A walk through the sample grove: what `make run` shows.

    python examples/tour.py [FOLDER]

The grove is planted on the first visit, in .sample below the repository's root unless
another folder is named. In a terminal each screen waits for Enter.
"""

import contextlib
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.rule import Rule
from rich.text import Text

import weft
from weft.cli.app import app
from weft.cli.output import style_of
from weft.cli.session import Settings
from weft.errors import NotFoundError
from weft.sample.harbour import plant_samples, sample_entropy
from weft.tree.agent import AgentType

ROOT = Path(__file__).resolve().parent.parent
WIDEST = 100
TRY_NEXT = (
    ("say something where you stand", 'say --tree Marie "And the cat?"'),
    ("say it otherwise: a branch beside it", 'edit . "And what does the cat say?"'),
    ("see both, and where you stand", "tree Marie"),
    ("let the small model on this machine answer, twice", "gen -n 2 --max-tokens 60"),
    ("hide it again, with all below it", "prune ."),
    ("go on in the letter, and make a node of it", 'type --tree "The letter" " Inside lay a key."'),
    ("", 'commit --tree "The letter"'),
    ("take the text elsewhere", 'read "The letter" --raw'),
    ("look something up", 'doc read "Harbour notes" --section never'),
    ("everything else", "--help"),
)


class Tour:
    """The screens, over one grove. People change the sample, so nothing in it is taken for granted."""

    def __init__(self, path: Path, console: Console) -> None:
        self.path = path
        self.console = console
        self._settings = Settings(address=path, width=console.width, terminal=True)

    @property
    def screens(self) -> list[tuple[str, Callable[[], None]]]:
        return [
            ("A grove is one database; trees stand in it", self.grove),
            ("A dialogue, with everything that was tried", self.dialogue),
            ("A path: one conversation out of many", self.one_path),
            ("A buffer, with its authors", self.buffer),
            ("Versions: the same place, said twice", self.versions),
            ("Documents and links", self.notes),
            ("What to try next, from the repository's folder", self.next),
        ]

    def grove(self) -> None:
        self.show("ls")
        self.tell(
            "Marie is a dialogue: a conversation with branches. The letter is a buffer: one text "
            "that several hands have written. Both are trees."
        )

    def dialogue(self) -> None:
        self.show("tree", "Marie")
        self.tell(
            "One line is one node; its id in brackets is for saying aloud. Nodes never change: an edit is "
            "a new node, with a prime. Models are coloured, * is where you stand, and the marks say what "
            "was bookmarked, left out, noted, merged or cut short."
        )

    def one_path(self) -> None:
        self.show("read", "Marie", "--tail", "4")
        self.tell("From the root to where you stand: one conversation. Stand elsewhere, and it is another.")

    def buffer(self) -> None:
        with weft.open(self.path) as grove:
            tree = grove.tree("The letter")
            types = {agent.id: agent.type for agent in grove.read.agents(archived=True)}
            styles = {node.author_type: style_of(node.value) for node in tree.path}
            text = Text()
            for node in tree.path:
                for span in grove.read.authorship(tree.id, node.id):
                    text.append(node.text[span.start : span.end], styles.get(types[span.author_id], ""))
            text.append(tree.working_buffer, "dim")
        self.console.print(text)
        person = Text("a person", styles.get(AgentType.HUMAN, ""))
        model = Text("a model", styles.get(AgentType.MODEL, ""))
        uncommitted = Text("not committed yet", "dim")
        self.console.print(Text("\n") + Text(" · ").join([person, model, uncommitted]))

    def versions(self) -> None:
        with weft.open(self.path) as grove:
            tree = grove.tree("The letter")
            for node in tree.path:
                versions = tree.node(node.id).versions
                for version in versions if len(versions) > 1 else ():
                    line = f"[{version.local_id}]{version.text}"
                    self.console.print(Text(line, style_of(version.value)))
        self.tell(
            "\nIn a buffer an edit is a version in its place. What follows is shared, nothing was copied, "
            "and you see the version you chose; others see theirs."
        )

    def notes(self) -> None:
        self.show("doc", "read", "Harbour notes", "--section", "marie")
        self.show("link", "doc:Harbour notes")

    def next(self) -> None:
        address = os.path.relpath(self.path, ROOT) if self.path.is_relative_to(ROOT) else str(self.path)
        for why, command in TRY_NEXT:
            if why:
                self.console.print(Text(f"# {why}", "dim"))
            line = f"WEFT_GROVE={address} .venv/bin/weft {command}"
            self.console.print(Text(line, "bold"), soft_wrap=True)
        self.tell(f'\nOr in Python: import weft; loom = weft.open("{address}"). README.md goes on from here.')

    def show(self, *arguments: str) -> None:
        """A real command and its answer."""
        typed = " ".join(f'"{word}"' if " " in word else word for word in arguments)
        self.console.print(Text(f"$ weft {typed}", "bold"))
        with contextlib.redirect_stderr(sys.stdout):
            app(list(arguments), prog_name="weft", standalone_mode=False, obj=self._settings)
        self.console.print()

    def tell(self, text: str) -> None:
        self.console.print(Text(text, "italic"))


def plant_once(path: Path) -> None:
    """Plant the sample where there is none; somewhere else first, so that it is there whole or not at all."""
    if path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent) as aside:
        planted = Path(aside) / path.name
        with weft.open(planted, entropy=sample_entropy()) as grove:
            plant_samples(grove)
        planted.replace(path)


def walk(tour: Tour, *, waits: bool) -> None:
    console, screens = tour.console, tour.screens
    for number, (title, screen) in enumerate(screens, 1):
        console.print()
        console.print(Rule(f"{number}/{len(screens)} · {title}", align="left"))
        try:
            screen()
        except NotFoundError as gone:
            tour.tell(f"{gone.message}: the sample was changed. Remove {tour.path.parent} to begin again.")
        if waits and number < len(screens):
            console.print(Text("\nEnter goes on, q ends. ", "dim"), end="")
            if input().strip().lower().startswith("q"):
                return


def main(folder: Path) -> None:
    here = sys.stdout.isatty()
    if not here:
        os.environ.setdefault("NO_COLOR", "1")
    console = Console(width=min(Console().width, WIDEST), highlight=False, markup=False, emoji=False)
    path = folder / "grove.db"
    plant_once(path)
    with contextlib.suppress(EOFError, KeyboardInterrupt):
        walk(Tour(path, console), waits=here and sys.stdin.isatty())


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT / ".sample")
