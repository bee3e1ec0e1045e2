"""What is said around a command and asks for nothing: why, what for, and questions answered by it.

A remark is taken off only if nothing in it could be a part of the command, turn it or put it off.
"""

from collections.abc import Sequence

from weft.commands.lexicon import DOUBTFUL, GUARDED, known_words, listed, verbs
from weft.commands.pieces import read_bare
from weft.commands.words import Token, Word

__all__ = ["after_question", "without_pronoun", "without_remark"]

_DASHES = frozenset({"—", "–", "-", "--"})
_CAUSES = frozenset({"because", "since"})
_SUBJECTS = listed(
    "i we you he she it they this that there these those the a human someone everybody it's i'm that's"
)
_ASKING = listed("how what which who where when why are is does do did has have any what's")
_AIMS = listed(
    "see check understand learn know compare remember verify find get refresh remind read look decide"
)
_TURNS = (GUARDED | listed("tomorrow soon later instead only")) - listed(
    "because every each everything all both others rest might too also"
)
_JUDGED = listed("it this that they these those")
_JUDGES = listed(
    "leads lead goes go adds add repeats repeat rambles ramble drifts drift drags drag matters matter"
)
"""After a dash anything may stand, also that it was a joke or has to wait: only these say no more than why."""
_HOW = listed("have just already accidentally wrongly node")
_DONE = listed("saw read like love made wrote")
_IN_ERROR = frozenset(
    {"", "by mistake", "by accident", "accidentally", "earlier", "too early", "too soon", "just now"}
)
_FEWEST = 3
"""Words of a remark: `— slowly` and `— the whole branch` say how, or what."""


def without_remark(tokens: Sequence[Token], *, looks: bool) -> list[Token] | None:
    """The tokens up to a remark at their end, or None if there is none that can be told from the command.

    `looks` is whether the command only looks: then `to see where this started` is a remark as well.
    """
    for place, token in enumerate(tokens):
        if place < 1 or not isinstance(token, Word) or token.bracketed:
            continue
        rest = tokens[place + 1 :]
        if token.text in _DASHES and _is_reason(rest, looks=looks):
            return list(tokens[:place])
        if token.text in _CAUSES and _is_clause(rest, caused=True):
            return list(tokens[:place])
        if token.text == "so" and _is_purpose(rest):
            return list(tokens[:place])
        if looks and token.text == "to" and _is_aim(rest):
            return list(tokens[:place])
    return None


def _words(tokens: Sequence[Token]) -> list[str] | None:
    """The words of a remark; None where something was given that a command could be about."""
    found: list[str] = []
    for token in tokens:
        if not isinstance(token, Word) or token.bracketed or "?" in token.after:
            return None
        items = [] if token.text in known_words() else read_bare(token, 0, known_words(), article=True)
        if any(item.kind in {"range", "number"} or _is_sure(item.kind, item.text) for item in items):
            return None
        found.append(token.text.replace("’", "'"))
    return found


def _is_sure(kind: str, text: str) -> bool:
    return kind == "id" and any(letter.isdecimal() for letter in text)


def _is_reason(tokens: Sequence[Token], *, looks: bool) -> bool:
    first = tokens[0] if tokens else None
    if isinstance(first, Word) and first.text in _CAUSES:
        return _is_clause(tokens[1:], caused=True)
    if isinstance(first, Word) and first.text == "so":
        return _is_purpose(tokens[1:])
    return _is_clause(tokens) and (looks or _judges(tokens))


def _judges(tokens: Sequence[Token]) -> bool:
    words = _words(tokens) or []
    return len(words) >= _FEWEST and words[0] in _JUDGED and words[1] in _JUDGES


def _is_clause(tokens: Sequence[Token], *, caused: bool = False) -> bool:
    """`it leads nowhere`: who does something, and nothing that turns it or asks for more."""
    words = _words(tokens)
    return (
        words is not None
        and len(words) >= (2 if caused else _FEWEST)
        and words[0] in _SUBJECTS
        and not any(
            (word in _TURNS and not (caused and word == "only")) or word in DOUBTFUL or _is_verb(word)
            for word in words
        )
    )


def _is_verb(word: str) -> bool:
    return (word,) in verbs() and word != "think"


def _is_purpose(tokens: Sequence[Token]) -> bool:
    """`so the human can find it`: what will be so, which is not asked for."""
    words = _words(tokens)
    if words is None or len(words) < _FEWEST:
        return False
    words = words[1:] if words[0] == "that" else words
    inner = words[1:4]
    may = {
        "can",
        "could",
        "will",
        "may",
        "doesn't",
        "don't",
        "won't",
        "stays",
        "remains",
        "isn't",
        "is",
        "know",
        "knows",
    }
    return (
        words[0] in _SUBJECTS
        and any(word in may for word in inner)
        and not any(
            word in {"and", "or", "but", "unless", "if", "then", "not", "no", "says", "reads"}
            for word in words
        )
    )


def _is_aim(tokens: Sequence[Token]) -> bool:
    words = _words(tokens)
    return (
        words is not None
        and len(words) >= 2
        and words[0] in _AIMS
        and not any(
            word in {"and", "or", "but", "unless", "if", "then", "not", "before", "after"} for word in words
        )
    )


def after_question(tokens: Sequence[Token]) -> list[Token] | None:
    """What follows a question in the same line: `how many are there? list a7x2 versions`."""
    first = tokens[0]
    if not isinstance(first, Word) or first.text not in _ASKING:
        return None
    for place in range(len(tokens) - 2, -1, -1):
        token = tokens[place]
        if isinstance(token, Word) and "?" in token.after:
            return list(tokens[place + 1 :])
    return None


def without_pronoun(tokens: Sequence[Token]) -> list[Token] | None:
    """`I pruned c4m2 by mistake, restore it` says `restore c4m2`: the one node that something was done to.

    Where the first part tells of anything beside the node, `it` may be that: `I found a typo in a7x2, prune it`.
    """
    if len(tokens) < 5 or not _says(tokens[-1], "it"):
        return None
    verb, last = tokens[-2], tokens[-3]
    if not (isinstance(verb, Word) and (verb.text,) in verbs() and isinstance(last, Word)):
        return None
    if not set(last.after) & set(",;.:"):
        return None
    said = [_plain(token) for token in tokens[:-2]]
    who, *rest = said
    while rest and rest[0] in _HOW:
        rest.pop(0)
    place = len(said) - len(rest) + 1
    if who not in {"i", "we"} or len(rest) < 2 or " ".join(rest[2:]) not in _IN_ERROR:
        return None
    done = rest[0].endswith("ed") or rest[0] in _DONE
    node = tokens[place]
    return [verb, node] if done and _is_node(node) and not rest[1].endswith("'s") else None


def _is_node(token: Token) -> bool:
    if not isinstance(token, Word) or (token.text in known_words() and not token.bracketed):
        return False
    return [item.kind for item in read_bare(token, 0, known_words(), article=False)] == ["id"]


def _plain(token: Token) -> str:
    return token.text.replace("’", "'") if isinstance(token, Word) else '"'


def _says(token: Token, text: str) -> bool:
    return isinstance(token, Word) and not token.bracketed and token.text == text
