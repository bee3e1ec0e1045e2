"""From a line to the command it asks for: by the rows, with typing slips put right; never by a guess."""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from weft.commands.actions import Command, ContinueCommand, ThinkCommand
from weft.commands.catalog import CATALOG, DOUBTFUL, HELP, ROWS, NotRun, doubtful, forms, near_misses, verbs
from weft.commands.classifier import RankedCommand, rank
from weft.commands.formatter import write_command
from weft.commands.grammar import CommandRow
from weft.commands.lexer import Option, Quoted, Token, Word, thought_start, tokens_of
from weft.commands.reader import Misfit, read_form
from weft.commands.scanner import Ignored, ScannedCommand, Why, scan
from weft.commands.vocabulary import (
    FILLER,
    GUARDED,
    NUMBERS,
    Sort,
    VocabularyToken,
    corrected,
    items_of,
    plain_words,
    words,
)
from weft.errors import CrossTreeError, InvalidSyntaxError, LimitExceededError, WeftError
from weft.tree.agent import Permission

MOST_CONTINUATIONS = 10
_POLITE = ("could you", "can you", "would you", "will you", "please")
_MAY_I = tuple(f"{may} {who} " for may in ("can", "may", "could", "should", "shall") for who in ("i", "we"))


def _phrases(text: str) -> frozenset[tuple[str, ...]]:
    return frozenset(tuple(each.split()) for each in text.split("|"))


_MAKE = _phrases(
    "add|put|set|place|leave|make|create|attach|write|apply|assign|post|draw|stick|send|record|new"
)
_ASK_FOR = _phrases("give|get|request|produce|ask for|i want|i'd like|i need|want|need")
"""Of what is there already these ask to see it: they make nothing but continuations."""
_REMOVE = _phrases(
    "remove|delete|drop|take away|take off|clear|get rid of|discard|strip|erase|throw away|let go of|release|"
    "forget|cut|break"
)
_SHOW = _phrases(
    "show|see|view|display|look at|take look at|have look at|give|get|print|pull up|bring up|list|list all|draw|"
    "tell|inspect|check|read|have|take|i need|i want|i'd like|i need to see|want|need|examine"
)
_MADE_INSIDE = words("in into as this new")
_QUESTION = words(
    "what which who where is are was does do did there any how many have has i can be tell of in on at it about "
    "some been was were all every"
)
"""Words of a question. They change nothing about a command that only looks."""
_LONGEST_VERB = 4
_LIKELY = 0.3
_FAR_BEHIND = 0.12
_WORTH_ASKING = 0.35


class _Reach(NamedTuple):
    """How far a command goes beyond its tree."""

    tree: str | None = None
    grove: bool = False


class _Candidate(NamedTuple):
    """A command that a line may mean, and what is left to be read of the line."""

    row: CommandRow
    items: list[VocabularyToken]
    noise: frozenset[str] = frozenset()


class _Unread(NamedTuple):
    """A line that was not read: its tokens, and why."""

    tokens: list[Token]
    error: InvalidSyntaxError


def parse_scanned(line: ScannedCommand) -> Command:
    """The command of a scanned line."""
    if line.think:
        return Command("think", ThinkCommand(line.text))
    return parse(line.text)


def parse(text: str) -> Command:
    """What follows an arrow, as a command, or an `InvalidSyntaxError` that asks which was meant.

    Permissions are not checked here: that is for the operations.
    """
    command = _settle(text)
    if _is_question(text) and not CATALOG[command.name].looks:
        raise InvalidSyntaxError("questions are not executed", hint=f"→ {write_command(command)}")
    return command


def parse_strictly(text: str) -> Command:
    """The same without correcting or classifying."""
    return _settle(text, strictly=True)


def _is_question(text: str) -> bool:
    """Whether it is asked, and not asked for: "could you" and its like are polite commands."""
    line = text.lower().lstrip()
    asked = "?" in text[len(text.rstrip("?!.… \t\n")) :]
    return line.startswith(_MAY_I) or (asked and not line.startswith(_POLITE))


def _settle(text: str, *, strictly: bool = False) -> Command:
    thought = thought_start(text)
    if thought is not None:
        return Command("think", ThinkCommand(text[thought:].strip()))
    tokens = tokens_of(text)
    if not tokens:
        raise InvalidSyntaxError("nothing follows the arrow", hint=HELP)
    tokens = [_joined(token) for token in tokens]
    first = _read(tokens, settles=not strictly)
    if isinstance(first, Command):
        return first
    spelt = None if strictly else corrected(tokens, known_words())
    second = None if spelt is None else _read(spelt, settles=True)
    if isinstance(second, Command):
        return second
    _refuse_unflagged(first.tokens)
    raise first.error


def _joined(token: Token) -> Token:
    """`un-pin` is `unpin`."""
    if not isinstance(token, Word) or "-" not in token.text or len(token.text) > 20:
        return token
    text = token.text.replace("-", "")
    return (
        Word(text, text, after=token.after) if (text,) in verbs() and (token.text,) not in verbs() else token
    )


def _read(tokens: Sequence[Token], *, settles: bool) -> Command | _Unread:
    """By the rows; if `settles`, by the classifier where they do not settle it."""
    words, reach = _without_reach(tokens)
    words = plain_words(words)
    items = _verb_first(items_of(words))
    misfits: dict[str, Misfit] = {}
    commands: list[Command] = []
    for candidate in _candidates(items):
        command = _read_row(candidate, misfits.setdefault(candidate.row.name, Misfit()), reach)
        if command is not None and command not in commands:
            commands.append(command)
    if len(commands) == 1:
        return commands[0]
    if commands:
        names = [command.name for command in commands]
        return _Unread(words, InvalidSyntaxError("which of these was meant?", hint=forms(names)))
    ranked = rank(items)
    command = _settled(items, ranked, reach) if settles and not misfits else None
    return command or _Unread(words, _which(items, misfits, ranked))


def _settled(
    items: Sequence[VocabularyToken], ranked: Sequence[RankedCommand], reach: _Reach
) -> Command | None:
    """The reading of the most likely command, if it consumes every item and the next reading is far behind."""
    unsure = doubtful(items)
    if unsure is not None and unsure[0] == items[0].text:
        return None
    readings: list[tuple[RankedCommand, Command]] = []
    for each in ranked:
        spoken = _spoken(CATALOG[each.name], items)
        command = None if spoken is None else _read_row(spoken, Misfit(), reach)
        if command is not None:
            readings.append((each, command))
    if not readings or readings[0][0] != ranked[0] or ranked[0].likeness < _LIKELY:
        return None
    if len(readings) > 1 and ranked[0].likeness - readings[1][0].likeness < _FAR_BEHIND:
        return None
    return readings[0][1]


def _read_row(candidate: _Candidate, misfit: Misfit, reach: _Reach) -> Command | None:
    row = candidate.row
    for form in row.variants:
        action = read_form(form, candidate.items, row.noise | candidate.noise, misfit)
        if action is not None:
            return _reaching(Command(row.name, action), reach)
    return None


def _spoken(row: CommandRow, items: Sequence[VocabularyToken]) -> _Candidate | None:
    """A command that only looks, spoken of in other words than its verbs: all must be words of its row."""
    own = (
        row.vocabulary | row.listed | {word for verb in row.verbs for word in verb.partition("=")[0].split()}
    )
    others = [item for item in items if not (item.sort is Sort.WORD and item.text == row.name)]
    telling = own - _QUESTION - row.noise
    if not row.looks or not any(item.sort is Sort.WORD and item.text in telling for item in others):
        return None
    return _Candidate(row, others, (own | _QUESTION) - GUARDED)


def _verb_first(items: Sequence[VocabularyToken]) -> list[VocabularyToken]:
    """`agent:"…" continue`: options before the verb go to the end."""
    ahead = 0
    while ahead < len(items) - 1 and items[ahead].sort is Sort.OPTION:
        ahead += 1
    return [*items[ahead:], *items[:ahead]]


def _candidates(items: Sequence[VocabularyToken]) -> Iterator[_Candidate]:
    """Every command that the words of a line may mean: by its verb, or by a general verb and a noun."""
    line = [item.text if item.sort is Sort.WORD else "" for item in items]
    yield from _by_verb(items, line)
    yield from _by_noun(items, line)


def _by_verb(items: Sequence[VocabularyToken], line: Sequence[str]) -> Iterator[_Candidate]:
    if not line or not line[0]:
        return
    for verb, names in _by_first_word().get(line[0], []):
        rest = _without_verb(items, line, verb)
        if rest is not None:
            for name in names:
                row = CATALOG[name]
                yield _Candidate(row, [*_brought(row, verb), *rest])


@lru_cache(maxsize=1)
def _by_first_word() -> dict[str, list[tuple[tuple[str, ...], tuple[str, ...]]]]:
    known: dict[str, list[tuple[tuple[str, ...], tuple[str, ...]]]] = {}
    for verb, names in verbs().items():
        known.setdefault(verb[0], []).append((verb, names))
    return known


def _without_verb(
    items: Sequence[VocabularyToken], line: Sequence[str], verb: tuple[str, ...]
) -> list[VocabularyToken] | None:
    """What is left of a line without its verb: its first word here, the others right after or further on."""
    others = list(verb[1:])
    if not others:
        return list(items[1:])
    for place in range(1, len(line) - len(others) + 1):
        if list(line[place : place + len(others)]) == others:
            return [*items[1:place], *items[place + len(others) :]]
    return None


def _brought(row: CommandRow, verb: tuple[str, ...]) -> list[VocabularyToken]:
    """The words that a verb brings with it: `unpin` is `drop pin`."""
    brought = {name: words for name, _, words in (each.partition("=") for each in row.verbs)}
    return [VocabularyToken(Sort.WORD, word, word) for word in brought.get(" ".join(verb), "").split()]


def _by_noun(items: Sequence[VocabularyToken], line: Sequence[str]) -> Iterator[_Candidate]:
    for row in ROWS:
        for general, nouns in ((_makes(row, items), row.made), (_removes(line), row.removed)):
            place = _noun_place(line, nouns)
            verb = _general_verb(line, general)
            if nouns and verb and place is not None and _names_object(line, verb, place):
                yield _Candidate(row, _without_noun(items, verb, place, keeps=row.keeps), _MADE_INSIDE)
        place = _noun_place(line, row.listed)
        if row.listed and place is not None and _comes_first(items, place):
            verb = _general_verb(line, _SHOW)
            asks = (line[0],) not in verbs()
            if verb and place >= verb:
                yield _Candidate(row, _without_noun(items, verb, place, keeps=row.keeps), _QUESTION)
            elif asks:
                yield _Candidate(row, _without_noun(items, 0, place, keeps=row.keeps), _QUESTION)


def _names_object(line: Sequence[str], verb: int, noun: int) -> bool:
    """Whether a noun says what a general verb is about: right after it, if the verb is a command's own, too."""
    if noun < verb or tuple(line[:verb]) not in verbs():
        return noun >= verb
    return _MADE_INSIDE.issuperset(line[verb:noun])


def _makes(row: CommandRow, items: Sequence[VocabularyToken]) -> frozenset[tuple[str, ...]]:
    """The general verbs that make something here; `give a7x2 a star` does, `give me the link` does not."""
    if row.permission is Permission.LOOM_GENERATE:
        return _MAKE | _ASK_FOR
    gives = len(items) > 1 and items[1].sort is Sort.NODE
    return _MAKE | {("give",)} if gives else _MAKE


def _removes(line: Sequence[str]) -> frozenset[tuple[str, ...]]:
    """The general verbs that take something away here; `take the link to a7x2` goes there."""
    return _REMOVE | {("take",)} if {"off", "away"} & set(line) else _REMOVE


def _comes_first(items: Sequence[VocabularyToken], place: int) -> bool:
    """`the links of a7x2` and `a7x2's links` ask for links; `view a7x2 annotations` may ask for either."""
    value = next((index for index, item in enumerate(items) if item.sort is not Sort.WORD), len(items))
    return place < value or items[value].owner or items[0].sort is Sort.NODE or items[0].text in _QUESTION


def _noun_place(line: Sequence[str], nouns: frozenset[str]) -> int | None:
    return next((place for place, word in enumerate(line) if word in nouns), None)


def _general_verb(line: Sequence[str], general: frozenset[tuple[str, ...]]) -> int:
    """How many words of the line's beginning are such a verb; 0 if none."""
    return next((size for size in range(_LONGEST_VERB, 0, -1) if tuple(line[:size]) in general), 0)


def _without_noun(
    items: Sequence[VocabularyToken], verb: int, noun: int, *, keeps: bool
) -> list[VocabularyToken]:
    return [item for place, item in enumerate(items) if place >= verb and (keeps or place != noun)]


@lru_cache(maxsize=1)
def known_words() -> frozenset[str]:
    """The words of the language: what a typing slip may have been meant for."""
    known = set(FILLER | GUARDED | _QUESTION) | set(NUMBERS) | set(DOUBTFUL)
    known |= {word for verb in (*verbs(), *_MAKE, *_ASK_FOR, *_REMOVE, *_SHOW) for word in verb}
    for row in ROWS:
        known |= row.made | row.removed | row.listed | row.noise | row.vocabulary
        for form in row.variants:
            for slot in form.flat:
                known |= slot.after | slot.names | slot.units | slot.requires | slot.values.keys()
    return frozenset(known)


def _refuse_unflagged(tokens: Sequence[Token]) -> None:
    """A tree without its `in`: if it would be a command with it, that is the hint."""
    tokens = _trees_as_options(tokens)
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
    command = _read(rest, settles=False)
    if isinstance(command, Command):
        title = named[0].values[0]
        flagged = write_command(Command(command.name, command.action, title))
        raise cross_tree(f'tree "{title[:60]}"', flagged)


def _trees_as_options(tokens: Sequence[Token]) -> list[Token]:
    """`tree "Other Voices"` is `tree:"Other Voices"`."""
    joined: list[Token] = []
    for token in tokens:
        last = next((place for place in range(len(joined) - 1, -1, -1) if not _is_filler(joined[place])), -1)
        if isinstance(token, Quoted) and last >= 0 and _is_word(joined[last], "tree"):
            del joined[last:]
            joined.append(Option("tree", (token.text,), quoted=True))
        else:
            joined.append(token)
    return joined


def _is_filler(token: Token) -> bool:
    return isinstance(token, Word) and not token.bracketed and token.text in FILLER | {"called", "named"}


def _is_word(token: Token, *texts: str) -> bool:
    return isinstance(token, Word) and not token.bracketed and token.text in texts


def check_limits(command: Command) -> None:
    """Refuse what is more than one request may ask for. The permission is checked before this."""
    if isinstance(command.action, ContinueCommand) and command.action.n > MOST_CONTINUATIONS:
        raise LimitExceededError(
            f"max continuations per request is {MOST_CONTINUATIONS}",
            hint=f"use n:{MOST_CONTINUATIONS} or less",
        )


def cross_tree(what: str, flagged: str) -> CrossTreeError:
    """The refusal to leave a tree without saying so. `flagged` is the form that says it."""
    return CrossTreeError(f"{what} is outside of this tree", hint=f"→ {flagged}")


_INSIDE = ("in", "across", "over", "throughout", "through", "within", "everywhere")


def _without_reach(tokens: Sequence[Token]) -> tuple[list[Token], _Reach]:
    """`in tree:"…"` and `in:grove` belong to any command, wherever they are in it.

    A tree that is named without the `in` is left: only a link may have one.
    """
    rest: list[Token] = []
    tree, grove = None, False
    for token in _trees_after_in(tokens):
        place = len(rest) - 1
        while place >= 0 and (
            _is_filler(rest[place]) or _is_word(rest[place], "whole", "entire", "all", "of")
        ):
            place -= 1
        inside = place >= 0 and _is_word(rest[place], *_INSIDE)
        match token:
            case Option("in", (value,), _) if value.lower() == "grove":
                grove = True
            case Word("grove", _, False) if inside or (place == 0 and _is_word(rest[0], "search")):
                del rest[place if inside else 1 :]
                grove = True
            case Option("tree", (title,), _) if inside and _is_word(rest[place], "in"):
                if tree not in {None, title}:
                    raise InvalidSyntaxError("in one tree, not in several", hint='in tree:"…"')
                del rest[place:]
                tree = title
            case _:
                rest.append(token)
    return rest, _Reach(tree, grove)


def _trees_after_in(tokens: Sequence[Token]) -> list[Token]:
    """`in the tree "Other Voices"` is `in tree:"Other Voices"`."""
    bare = [token for token in tokens if not _is_filler(token)]
    named = any(
        _is_word(one, "in") and _is_word(other, "tree") and isinstance(third, Quoted)
        for one, other, third in zip(bare, bare[1:], bare[2:], strict=False)
    )
    return _trees_as_options(tokens) if named else list(tokens)


def _reaching(command: Command, reach: _Reach) -> Command:
    if reach.grove and reach.tree is not None:
        raise InvalidSyntaxError(
            "either in one tree or in the grove, not both", hint='in tree:"…", or in:grove'
        )
    return Command(command.name, command.action, reach.tree, reach.grove)


def _which(
    items: Sequence[VocabularyToken], misfits: Mapping[str, Misfit], ranked: Sequence[RankedCommand]
) -> InvalidSyntaxError:
    """Ask which was meant, with the forms that come closest."""
    unsure = doubtful(items)
    likely = [each.name for each in ranked if each.likeness >= _WORTH_ASKING]
    if unsure is not None and (unsure[0] == items[0].text or not misfits):
        word, names = unsure
        return InvalidSyntaxError(
            f"{word!r} could mean several things: which?", hint=forms([*names, *misfits, *likely[:2]])
        )
    if misfits:
        name, misfit = next(iter(misfits.items()))
        return InvalidSyntaxError(f"{name}: {misfit.why}", hint=forms([*misfits, *likely[:2]]))
    first = next((item.raw for item in items if item.raw), "")
    near = near_misses(first.lower()) if first.isalpha() else []
    spoken = any(item.sort is Sort.WORD for item in items)
    names = list(dict.fromkeys([*near, *(each.name for each in ranked if spoken)]))[:3]
    if names:
        return InvalidSyntaxError("which of these was meant?", hint=forms(names))
    return InvalidSyntaxError("unknown command", hint=HELP)


_LOOKED_AT = 20
_LONGEST = 2_000
_SHOWN = 3
_ABOUT = 80


def parse_ignored(text: str, ignored: Sequence[Ignored]) -> tuple[NotRun, ...]:
    """Those of the ignored arrows in a text that would have been commands, the first few."""
    own = [each for each in ignored if each.why not in {Why.GIVEN, Why.MARKED}]
    lines = (_not_run(text[each.start : each.start + _LONGEST], each.why) for each in own[:_LOOKED_AT])
    return tuple(filter(None, lines))[:_SHOWN]


def _not_run(text: str, why: Why) -> NotRun | None:
    commands = scan(text).commands
    if not commands or not commands[0].closed:
        return None
    try:
        meant = parse_strictly(commands[0].text)
    except WeftError:
        return None
    if isinstance(meant.action, ThinkCommand):
        return None
    line = " ".join(write_command(meant).split())
    return NotRun(line if len(line) <= _ABOUT else f"{line[: _ABOUT - 1]}…", why)
