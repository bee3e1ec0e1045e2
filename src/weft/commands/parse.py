"""From a line to what it asks for: patterns, whole sentences, misspellings, the classifier; never a guess."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from weft.commands.catalog import CATALOG
from weft.commands.classify import Reading, classify
from weft.commands.lexicon import DOUBTFUL, corrected, known_words, listed, manners_off, near_misses, verbs
from weft.commands.pieces import FILLER, Pieces, Unfit
from weft.commands.readers import READERS
from weft.commands.remarks import after_question, without_pronoun, without_remark
from weft.commands.sayings import readings
from weft.commands.scan import Found
from weft.commands.spoken import spelt_out
from weft.commands.thinking import thought_start
from weft.commands.values import Action, Command, Continue, Think, ViewBranch
from weft.commands.words import Option, Quoted, Token, Word, as_reference, tokens_of
from weft.commands.writing import write_command
from weft.errors import CrossTreeError, InvalidSyntaxError, LimitExceededError

__all__ = ["MOST_CONTINUATIONS", "check_limits", "cross_tree", "parse", "parse_found", "parse_strictly"]

MOST_CONTINUATIONS = 10
_LONGEST_VERB = 4
_POLITE = ("could you", "can you", "would you", "will you", "please")
_GENERAL = frozenset(
    {"show", "see", "look", "open", "display", "print", "list", "write", "change", "go", "take"}
)
_MAY_I = (
    "can i ",
    "may i ",
    "could i ",
    "should i ",
    "shall i ",
    "can we ",
    "could we ",
    "should we ",
    "shall we ",
)
_LOOKING = frozenset(
    {"view", "list", "tree", "search", "help", "memory", "read", "recall", "switch", "think"}
)
"""Commands that change nothing for anybody: a question may be one of these."""
_WRITING = listed("insert replace overwrite add put place write append change rewrite edit update revise")
_HELP = "→ help shows what there is"


class _Reach(NamedTuple):
    tree: str | None = None
    grove: bool = False


def parse_found(found: Found) -> Command:
    """The command that a scan has found."""
    if found.think:
        return Command("think", Think(found.text))
    return parse(found.text)


def parse(text: str) -> Command:
    """What follows an arrow, as a command, or an `InvalidSyntaxError` that asks which was meant.

    Who says it and whether they may is not looked at here: that is for the operations.
    """
    found = _settle(text)
    if _is_question(text) and found.name not in _LOOKING:
        raise InvalidSyntaxError("a question changes nothing", hint=f"→ {write_command(found)}")
    return found


def _is_question(text: str) -> bool:
    """Whether it is asked, and not asked for: "could you" and its like are polite commands."""
    said = text.lower().lstrip()
    asked = "?" in text[len(text.rstrip("?!.… \t\n")) :]
    return said.startswith(_MAY_I) or (asked and not said.startswith(_POLITE))


def _settle(text: str) -> Command:
    thought = thought_start(text)
    if thought is not None:
        return Command("think", Think(text[thought:].strip()))
    tokens = tokens_of(text)
    said = spelt_out(tokens)
    first = _heard(said)
    if isinstance(first, Command):
        return first
    for other in _without_remarks(said):
        again = _heard(other.tokens)
        if isinstance(again, Command) and (not other.looks or again.name in _LOOKING):
            return again
    _refuse_unflagged(first.tokens)
    raise first.error


class _Attempt(NamedTuple):
    tokens: list[Token]
    looks: bool = False
    """Whether only a command that looks is taken."""


def _without_remarks(tokens: Sequence[Token]) -> Iterator[_Attempt]:
    for looks in (False, True):
        bare = without_remark(tokens, looks=looks)
        if bare is not None:
            yield _Attempt(bare, looks)
    asked = after_question(tokens)
    if asked is not None:
        yield _Attempt(asked, looks=True)
    meant = without_pronoun(tokens)
    if meant is not None:
        yield _Attempt(meant)


class _Unsettled(NamedTuple):
    tokens: list[Token]
    error: InvalidSyntaxError


def _heard(tokens: Sequence[Token]) -> Command | _Unsettled:
    """A line with its options spelt out: by patterns, by whole sentences, spelt right, by the classifier."""
    said, reach = _read_words(_verb_first(tokens))
    first = _by_pattern(said)
    if isinstance(first, Command):
        return _reaching(first, reach)
    if _stutters(said):
        return _Unsettled(said, _which(first, Reading((), frozenset(), settled=False), said))
    spelt = corrected(said)
    for words in (said, None if spelt is None else spelt_out(spelt)):
        found = None if words is None else _by_sentence(words)
        if found is not None:
            return _reaching(found, _Reach(reach.tree, reach.grove or found.grove))
        again = None if words is None or words is said else _by_pattern(words)
        if isinstance(again, Command):
            return _reaching(again, reach)
    try:
        guess = classify(spelt or said)
    except Unfit as unfit:
        return _Unsettled(said, InvalidSyntaxError(str(unfit), hint=_forms([first.name or "help"])))
    name = guess.names[0] if guess.names else ""
    if not guess.settled or not _may_mean(first, name):
        return _Unsettled(said, _which(first, guess, said))
    try:
        action = READERS[name](Pieces.of(spelt or said, known_words(), explained=guess.explained))
    except Unfit as unfit:
        return _Unsettled(said, InvalidSyntaxError(f"{name}: {unfit}", hint=_forms([name, *unfit.others])))
    return _reaching(Command(_name_of(name, action), action), reach)


def _stutters(tokens: Sequence[Token]) -> bool:
    """`undo undo`: the verb twice, which may be twice of it; `undo the undo` is not said so."""
    first, second = (*tokens[:2], None, None)[:2]
    return (
        isinstance(first, Word)
        and isinstance(second, Word)
        and first.text == second.text
        and (first.text,) in verbs()
    )


def _verb_first(tokens: Sequence[Token]) -> list[Token]:
    """`with agent:"…", continue` and `on a7x2, comment "…"`: what stands before the verb goes to the end."""
    found = list(tokens)
    ahead: list[Token] = []
    while len(found) > 1 and isinstance(found[0], Option) and found[0].name != "doc":
        ahead.append(found.pop(0))
    first, second = (found[0], found[1]) if len(found) > 2 else (None, None)
    if (
        isinstance(first, Word)
        and first.text in {"from", "on", "to", "for", "at", "under"}
        and isinstance(second, Word)
        and second.after == ","
        and (second.bracketed or second.text not in known_words())
    ):
        ahead += found[:2]
        found = found[2:]
    return [*found, *ahead]


def _by_sentence(tokens: Sequence[Token]) -> Command | None:
    """What it means as a whole sentence; None if it is none, or if two such readings differ."""
    found: list[Command] = []
    for each in readings(tokens):
        kept, reach = _without_reach(each)
        meant = _by_pattern(kept)
        if isinstance(meant, Command) and (reaching := _reaching(meant, reach)) not in found:
            found.append(reaching)
    writing = _into_document(tokens)
    if writing is not None and writing not in found:
        found.append(writing)
    return found[0] if len(found) == 1 else None


def _into_document(tokens: Sequence[Token]) -> Command | None:
    """`insert "…" at line 12 of doc:"…"`: with a document, verbs are plain that would be doubtful without."""
    said = list(tokens)
    if len(said) > 2 and _is(said[0], "in") and isinstance(said[1], Option) and said[1].name == "doc":
        said = [*said[2:], said[1]]
    verb = said[0] if said else None
    if not isinstance(verb, Word) or verb.text not in _WRITING:
        return None
    if not any(isinstance(token, Option) and token.name == "doc" for token in said):
        return None
    try:
        return Command("write", READERS["write"](Pieces.of(said[1:], known_words(), verb=(verb.text,))))
    except Unfit:
        return None


def _is(token: Token, text: str) -> bool:
    return isinstance(token, Word) and token.text == text


def _may_mean(first: "_Misfit", name: str) -> bool:
    """A verb that is known is taken at its word, but for those of which everything can be asked."""
    return first.name in {None, name} or first.verb in _GENERAL


def parse_strictly(text: str) -> Command:
    """The same by patterns alone, without correcting or classifying."""
    thought = thought_start(text)
    if thought is not None:
        return Command("think", Think(text[thought:].strip()))
    said, reach = _read_words(tokens_of(text))
    found = _by_pattern(said)
    if isinstance(found, Command):
        return _reaching(found, reach)
    _refuse_unflagged(said)
    raise _which(found, Reading((), frozenset(), settled=False), said)


def _refuse_unflagged(tokens: Sequence[Token]) -> None:
    """A tree without its `in`: would it be a command with it, then that is the hint."""
    named = [token for token in tokens if isinstance(token, Option) and token.name == "tree" and token.values]
    if len(named) != 1:
        return
    place = tokens.index(named[0])
    before = tokens[place - 1] if place else None
    small = isinstance(before, Word) and before.text in {"of", "from", "on", "at"}
    rest = [*tokens[: place - small], *tokens[place + 1 :]]
    if not any(isinstance(token, Word) for token in rest):
        # `tree "Other Voices"`: what would be the verb has become the name of the option.
        rest.insert(0, Word("tree", "tree"))
    found = _by_pattern(rest)
    if isinstance(found, Command):
        title = named[0].values[0]
        flagged = write_command(Command(found.name, found.action, title))
        raise cross_tree(f'tree "{title[:60]}"', flagged)


def check_limits(command: Command) -> None:
    """What is more than one request may ask for. After the permission: who may not generate is told that."""
    if isinstance(command.action, Continue) and command.action.n > MOST_CONTINUATIONS:
        raise LimitExceededError(
            f"max continuations per request is {MOST_CONTINUATIONS}",
            hint=f"use n:{MOST_CONTINUATIONS} or less",
        )


def cross_tree(what: str, flagged: str) -> CrossTreeError:
    """The refusal to leave a tree without saying so. `flagged` is the form that says it."""
    return CrossTreeError(f"{what} is outside of this tree", hint=f"→ {flagged}")


def _read_words(tokens: Sequence[Token]) -> tuple[list[Token], _Reach]:
    if not tokens:
        raise InvalidSyntaxError("nothing follows the arrow", hint=_HELP)
    kept, reach = _without_reach(tokens)
    return manners_off(kept), reach


def _without_reach(tokens: Sequence[Token]) -> tuple[list[Token], _Reach]:
    """`in tree:"…"` and `in:grove` belong to any command, wherever they stand in it.

    A tree that is named without the `in` is kept apart: only a link may have one.
    """
    kept: list[Token] = []
    tree, grove = None, False
    for token in tokens:
        place = len(kept) - 1
        while place >= 0 and isinstance(one := kept[place], Word) and one.text in FILLER:
            place -= 1
        after_in = place >= 0 and isinstance(one := kept[place], Word) and one.text == "in"
        match token:
            case Option("in", (value,), _) if value.lower() == "grove":
                grove = True
            case Word("grove", _, False) if after_in:
                del kept[place:]
                grove = True
            case Option("tree", (title,), _) if after_in:
                if tree not in {None, title}:
                    raise InvalidSyntaxError("in one tree, not in several", hint='in tree:"…"')
                del kept[place:]
                tree = title
            case _:
                kept.append(token)
    return kept, _Reach(tree, grove)


def _reaching(command: Command, reach: _Reach) -> Command:
    if reach.grove and reach.tree is not None:
        raise InvalidSyntaxError(
            "either in one tree or in the grove, not both", hint='in tree:"…", or in:grove'
        )
    return Command(command.name, command.action, reach.tree, reach.grove)


class _Misfit(NamedTuple):
    """The verb as far as it is known, what does not fit, and what else may have been meant."""

    name: str | None = None
    verb: str = ""
    why: str = ""
    others: tuple[str, ...] = ()


def _by_pattern(tokens: Sequence[Token]) -> Command | _Misfit:
    found = _verb(tokens)
    if found is None:
        return _Misfit()
    name, said, rest = found
    try:
        action = READERS[name](Pieces.of(rest, known_words(), verb=said))
    except Unfit as unfit:
        return _Misfit(name, said[0], str(unfit), unfit.others)
    return Command(_name_of(name, action), action)


def _name_of(name: str, action: Action) -> str:
    """The command that was meant: `open doc:"…"` is a `read`, whatever the verb."""
    if isinstance(action, ViewBranch):
        return "view"
    own = type(action).__name__.lower()
    return own if own in CATALOG else name


def _verb(tokens: Sequence[Token]) -> tuple[str, tuple[str, ...], list[Token]] | None:
    """The longest verb that the tokens begin with, and what follows it."""
    known = verbs()
    words: list[str] = []
    best: tuple[str, tuple[str, ...], list[Token]] | None = None
    for place, token in enumerate(tokens):
        if not isinstance(token, Word) or token.bracketed or len(words) == _LONGEST_VERB:
            break
        if token.text in FILLER:
            continue
        words.append(token.text)
        name = known.get(tuple(words))
        if name is not None:
            best = name, tuple(words), list(tokens[place + 1 :])
    return best


def _which(first: _Misfit, found: Reading, tokens: Sequence[Token]) -> InvalidSyntaxError:
    """Ask which was meant, with the forms that come closest."""
    doubtful = _doubtful(tokens)
    if first.name is not None:
        return InvalidSyntaxError(f"{first.name}: {first.why}", hint=_forms([first.name, *first.others]))
    if doubtful is not None:
        word, names = doubtful
        return InvalidSyntaxError(f"{word!r} could mean several things: which?", hint=_forms(names))
    names = _candidates(found, tokens)
    if names:
        return InvalidSyntaxError("which of these was meant?", hint=_forms(names))
    return InvalidSyntaxError("no command is known by these words", hint=_HELP)


def _candidates(found: Reading, tokens: Sequence[Token]) -> list[str]:
    """What comes closest: a verb that is written much like the first word, then what the classifier heard."""
    words = [token for token in tokens if isinstance(token, Word) and token.text not in FILLER]
    near = near_misses(words[0].text) if words and not words[0].bracketed else []
    only_ids = all(token.bracketed or as_reference(token.raw) for token in words)
    return list(dict.fromkeys([*near, *(() if only_ids else found.names)]))[:3]


def _doubtful(tokens: Sequence[Token]) -> tuple[str, tuple[str, ...]] | None:
    for token in tokens:
        if isinstance(token, Word) and token.text in DOUBTFUL:
            return token.text, DOUBTFUL[token.text]
        if isinstance(token, Quoted | Option):
            break
    return None


def _forms(names: Iterable[str]) -> str:
    return " · ".join(f"→ {form}" for name in names for form in CATALOG[name].forms)
