"""The words of the language, learned from the catalog: verbs, what stands before them, and misspellings."""

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from functools import lru_cache

from weft.commands.catalog import ROWS, Row
from weft.commands.pieces import FILLER, NUMBERS
from weft.commands.templates import TEMPLATES, WORDS
from weft.commands.words import Option, Quoted, Token, Word

__all__ = [
    "DOUBTFUL",
    "GUARDED",
    "corrected",
    "known_words",
    "listed",
    "manners_off",
    "near_misses",
    "phrase_words",
    "verbs",
]

_FEWEST_LETTERS, _MOST_LETTERS = 3, 20
"""Of a word that may be a verb gone wrong."""


def listed(text: str) -> frozenset[str]:
    """The words of a text, as a set."""
    return frozenset(text.split())


def _sayings(text: str) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(each.split()) for each in text.split("|"))


DOUBTFUL: dict[str, tuple[str, ...]] = {
    "delete": ("prune", "exclude", "drop"),
    "erase": ("prune", "exclude", "drop"),
    "remove": ("prune", "exclude", "drop"),
    "hide": ("prune", "exclude", "collapse"),
    "kill": ("prune", "exclude"),
    "clear": ("prune", "exclude", "drop"),
    "forget": ("drop", "exclude"),
    "discard": ("drop", "prune"),
    "release": ("drop", "restore"),
    "save": ("bookmark", "stash", "pin"),
    "store": ("stash", "write"),
    "mark": ("bookmark", "tag"),
    "label": ("tag", "bookmark"),
    "flag": ("bookmark", "tag"),
    "remember": ("pin", "stash"),
    "keep": ("pin", "stash", "bookmark"),
    "add": ("respond", "annotate", "attach", "tag"),
    "put": ("respond", "annotate", "attach"),
    "insert": ("respond", "write"),
    "replace": ("edit", "write"),
    "back": ("switch", "undo"),
    "return": ("switch", "respond"),
    "revert": ("undo", "restore"),
    "get": ("view", "recall"),
    "give": ("view", "continue"),
    "take": ("switch", "drop"),
    "group": ("collapse", "merge"),
    "detach": ("unlink", "untag"),
    "branch": ("respond", "continue", "view"),
    "fork": ("respond", "continue"),
    "copy": ("stash", "respond"),
    "summarise": ("stash", "view"),
    "summarize": ("stash", "view"),
    "summary": ("stash", "view", "read"),
    "make": ("respond", "edit", "merge"),
    "create": ("respond", "link"),
    "set": ("edit", "switch"),
    "let": ("edit", "continue"),
    "have": ("continue", "pin", "prune"),
}
"""Verbs that could mean things that differ in effect: by themselves they are asked about."""

GUARDED = listed(
    "not don't dont do-not never no nor neither cannot can't cant won't wont shouldn't shouldnt wouldn't "
    "without unless except but instead rather if whether maybe perhaps possibly either or until before "
    "after afterwards then later once when while because although might ought every each everything all "
    "both others rest also too"
)
"""Words that turn, defer or widen what is said. Where patterns do not settle it, they are not explained away."""

_MANNERS = _sayings(
    "could you|can you|would you|will you|i want to|i'd like to|i would like to|i want you to|"
    "i'd like you to|i would like you to|i need to|i will|i'll|i shall|i am going to|i'm going to|let me|"
    "let's|lets|let us|go ahead and|ok|okay|hey|hi|hello|so|alright|right|well|and|first|next up|kindly|"
    "please|pls|plz|now|just|be so kind and|be so kind as to|feel free to|try to|time to|it's time to|"
    "quickly|weft|command|do|also|let me just|i wanna|lemme|i need you to|we need to|i am gonna|i'm gonna|"
    "i'd love to|i would love to|can i|could i|may i|can we|could we|should i|shall i|should we|shall we"
)
_THANKS = _sayings(
    "please|thanks|thank you|for me|right away|now|right now|at once|ok|okay|pls|plz|thx|cheers|first|as well|too|"
    "for now|for a moment|thanks a lot|thank you very much|if you please|would you|will you|quickly"
)
_LONG = 7
_SAID = re.compile(r"(?<!\$)\b[A-Za-z][A-Za-z'-]*")


@lru_cache(maxsize=1)
def verbs() -> dict[tuple[str, ...], str]:
    """Every verb, of one word or more, and its command."""
    found: dict[tuple[str, ...], str] = {}
    for row in ROWS:
        for said in (row.name, *row.synonyms):
            found.setdefault(tuple(said.split()), row.name)
    return found


def near_misses(word: str) -> list[str]:
    """The commands of which a verb is written much like this: to ask which was meant, and not to do it."""
    if not _FEWEST_LETTERS <= len(word) <= _MOST_LETTERS:
        return []
    singles = [verb[0] for verb in verbs() if len(verb) == 1]
    return list(dict.fromkeys(verbs()[(near,)] for near in get_close_matches(word, singles, cutoff=0.75)))


def phrase_words(row: Row) -> frozenset[str]:
    """The words in which a command is spoken of."""
    said = (row.name, *row.synonyms, *row.phrases)
    return frozenset(word for each in said for word in each.split() if not word.isupper())


@lru_cache(maxsize=1)
def known_words() -> frozenset[str]:
    """All words that are no ids unless they stand in brackets."""
    found = set(FILLER) | set(NUMBERS) | GUARDED | set(DOUBTFUL)
    found |= _SMALL | _COMMON
    for each in (*_MANNERS, *_THANKS):
        found |= set(each)
    for row in ROWS:
        found |= phrase_words(row)
    for said in (*WORDS.values(), *(template.said for template in TEMPLATES)):
        found |= {word for word in _SAID.findall(said) if word.islower()}
    return frozenset(found)


_SMALL = listed(
    "full complete whole entire fully completely entirely with-annotations with-notes with without annotations "
    "annotation notes comments continuations continuation children replies responses branches links connections "
    "references versions edits revisions next previous prev parent up leaf tip prose separate separately branch "
    "depth levels level deep summary summaries summarised summarized brief briefly from at under below of to as in "
    "on for and into by using between through until together together again back trace actions history errors "
    "stashed stashes stash result section lines line append replace grove tree everywhere trees times completions "
    "samples variants alternatives options agent here there this that it these those its my your our their "
    "context contexts memory document doc group range sibling one content contents text words word "
    "starting down out off over saying says said say reads called name label item end only about recent each "
    "hello thanks thank what which where who why how does is are was were will shall would could should can may "
    "i you we he she they us them him her mine yours some any more less "
    "temp temperature tokens token max maximum most least hundred model stop stopping sequence reaches "
    "continuous flowing running plain stitched individual distinct number numbers no nr entirety length along "
    "including plus throughout across within everywhere instruction instructions given taking description "
    "reach form begins starts once bottom "
    "insert inserting replacing overwrite overwriting sections document documents docs beginning start top bottom"
)


_COMMON = listed(
    "area army badge bare base beat beds beef been began best beta better brave bread breath came camera "
    "camp case cases cast catch cave center chance change chapter chart chat cheap dark darker data date "
    "dates dead dear debate deep degree dense desert draft drafts drama dream dress each ears east easy edge "
    "ever exact extra face fact facts fade fake fame fast fear fears feet frame france free fresh game "
    "garden gate gave gear gems germany gets grand grant grass grave gray great green grew hand hands hard "
    "harsh hate have head hear heard heart heat hence here hers keep kept made make manner mark marker mars "
    "mass master match matter matters maybe mean means meant meet member mere mess name names narrate near "
    "neat need never news next pace pack page pages paper park part parts party pass passage past path phase "
    "phrase prefer press pretty rage range rank rare rate rather read ready rest scare scene scenes seam "
    "seat secret seed seek seem seems seen send sense sent sentence serve seven shade shape share sharp shed "
    "stage stake stand stands stanza star stars start state stay stays step steps strange street stress take "
    "taken tame tape task taste team tear tears tend tense tent term terms test text texts than thank that "
    "them theme themes then there these they thread threat three trade trap treat tree trees trend verse "
    "very wake want wants warm waste watch water wave waves weak weaker wear weather week went were west "
    "what when where whether yard yeah year years zebra"
)
"""English words that have the look of an id: `prune weak branches` names no node. In brackets they may be one."""


def manners_off(tokens: Sequence[Token]) -> list[Token]:
    """The tokens without what is only polite, before and after."""
    found = list(tokens)
    while (taken := _leading(found)) is not None:
        del found[:taken]
    while (taken := _trailing(found)) is not None:
        del found[len(found) - taken :]
    return found


def _leading(tokens: Sequence[Token]) -> int | None:
    for each in _MANNERS:
        if len(tokens) > len(each) and _says(tokens[: len(each)], each):
            return len(each)
    return None


def _trailing(tokens: Sequence[Token]) -> int | None:
    for each in _THANKS:
        if len(tokens) > len(each) and _says(tokens[-len(each) :], each):
            return len(each)
    return None


def _says(tokens: Sequence[Token], words: Sequence[str]) -> bool:
    return all(
        isinstance(token, Word) and not token.bracketed and token.text.replace("’", "'") == word
        for token, word in zip(tokens, words, strict=True)
    )


def corrected(tokens: Iterable[Token]) -> list[Token] | None:
    """The tokens with misspelt words of the language put right; None if there are none that are sure."""
    known, changed, found = known_words(), False, list[Token]()
    for token in tokens:
        match token:
            case Word(text, _, False) if text not in known and text.isalpha() and 3 <= len(text) <= 20:
                meant = [word for word in known if len(word) >= 4 and is_misspelt(text, word)]
                if len(meant) == 1:
                    token = Word(meant[0], meant[0])  # noqa: PLW2901 - the loop goes on with the right word
                    changed = True
            case Word() | Quoted() | Option():
                pass
        found.append(token)
    return found if changed else None


def is_misspelt(said: str, meant: str) -> bool:
    """Whether one slip of the fingers makes the one of the other, and not one real word of another."""
    if said == meant or said[0] != meant[0]:
        return False
    if len(said) == len(meant):
        differ = [index for index, (one, other) in enumerate(zip(said, meant, strict=True)) if one != other]
        swapped = (
            len(differ) == 2
            and differ[1] == differ[0] + 1
            and said[differ[0]] == meant[differ[1]]
            and said[differ[1]] == meant[differ[0]]
        )
        return swapped or (len(differ) == 1 and len(meant) >= _LONG)
    if len(said) == len(meant) - 1:
        return any(meant[:index] + meant[index + 1 :] == said for index in range(1, len(meant)))
    if len(said) == len(meant) + 1:
        # An ending is no slip: `excluded` tells of something, and asks for nothing.
        places = [index for index in range(1, len(said)) if said[:index] + said[index + 1 :] == meant]
        doubled = any(said[index] == said[index - 1] for index in places)
        return doubled or (len(meant) >= _LONG and bool(places) and len(said) - 1 not in places)
    return False
