"""Ways of asking, with what is meant by them."""

from pathlib import Path
from typing import NamedTuple

from weft.commands.actions import Command
from weft.commands.parse import parse, parse_strictly
from weft.errors import WeftError

FOLDER = Path(__file__).parent.parent / "data" / "commands"


class Phrase(NamedTuple):
    said: str
    meant: str | None
    """A catalog form; None where nobody could know."""


class Tally(NamedTuple):
    meant: int
    """Phrases that mean something; the others must not be run."""
    run: int
    """Of those, the ones that run at once as meant."""
    asked: list[Phrase]
    """Of those, the ones that are asked about."""
    hinted: int
    """Of those asked about, the ones with a form of the right command in the hint."""
    wrong: list[Phrase]
    """Something else would be run than was meant."""


LISTS = ("phrases.txt", "unseen.txt", "heldout.txt", "fresh.txt", "heldout2.txt")


def phrases(name: str) -> list[Phrase]:
    found: list[Phrase] = []
    meant: str | None = None
    for line in (FOLDER / name).read_text(encoding="utf-8").splitlines():
        if line.startswith("= "):
            meant = None if line == "= ?" else line[2:]
        elif line and not line.startswith("#"):
            found.append(Phrase(line, meant))
    return found


def outcome(said: str) -> Command | WeftError:
    try:
        return parse(said)
    except WeftError as error:
        return error


def tally(listed: list[Phrase]) -> Tally:
    run, hinted, asked, wrong = 0, 0, list[Phrase](), list[Phrase]()
    for phrase in listed:
        read = outcome(phrase.said)
        wanted = None if phrase.meant is None else parse_strictly(phrase.meant)
        if isinstance(read, WeftError):
            if wanted is not None:
                asked.append(phrase)
                hinted += f"→ {wanted.name}" in (read.hint or "")
        elif read == wanted:
            run += 1
        else:
            wrong.append(phrase)
    return Tally(sum(phrase.meant is not None for phrase in listed), run, asked, hinted, wrong)
