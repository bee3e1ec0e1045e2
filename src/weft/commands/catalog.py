"""All commands in one table: how they are said, what they need, what they do."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from weft.commands.phrases import PHRASES
from weft.errors import PermissionDeniedError
from weft.tree.agent import Permission

__all__ = ["CATALOG", "ROWS", "Row", "refusal"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One command."""

    name: str
    forms: tuple[str, ...]
    permission: Permission
    help: str
    synonyms: tuple[str, ...] = ()
    """Other verbs that always mean this; some of several words."""
    phrases: tuple[str, ...] = ()
    """Ways of saying it that the classifier learns from."""
    verb: str = ""
    """What a human would be asked to do where the permission is missing; the name if not given."""


_AWARE, _WRITE, _GENERATE = Permission.LOOM_AWARE, Permission.LOOM_WRITE, Permission.LOOM_GENERATE


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(","))


_LOOKING = (
    Row(
        name="view",
        forms=("view ID [full] [with-annotations]", "view branch:ID as:prose|nodes", "view result:N"),
        permission=_AWARE,
        help="see a node in short or in full, a branch, or a result",
        synonyms=_words(
            "show, look, look at, open, inspect, see, display, examine, take look at, have look at, peek at, "
            "peek, check, check on, check out, glance at, glance over, pull up, bring up, open up, print, "
            "have peek at, take peek at"
        ),
        phrases=PHRASES["view"],
    ),
    Row(
        name="list",
        forms=("list ID continuations|annotations|links|versions",),
        permission=_AWARE,
        help="list what hangs on a node",
        synonyms=_words("enumerate, ls, list out, list all"),
        phrases=PHRASES["list"],
    ),
    Row(
        name="tree",
        forms=("tree [from:ID] [depth:N] [summary]",),
        permission=_AWARE,
        verb="draw the tree",
        help="draw the tree; * is where you are",
        synonyms=_words(
            "map, outline, show tree, view tree, draw tree, print tree, display tree, see tree, show map, "
            "show outline, draw map, list tree, show structure, view structure"
        ),
        phrases=PHRASES["tree"],
    ),
    Row(
        name="switch",
        forms=("switch to ID", "switch next|previous|parent|leaf"),
        permission=_AWARE,
        help="move to another node",
        synonyms=_words(
            "goto, go, go to, move, move to, jump, jump to, navigate, navigate to, switch to, take to, cd, "
            "head to, head over to, travel to, step to, hop to, hop"
        ),
        phrases=PHRASES["switch"],
    ),
    Row(
        name="search",
        forms=('search "query"', 'search "query" in:grove'),
        permission=_AWARE,
        help="full text of this tree",
        synonyms=_words(
            "find, grep, look for, look up, search for, query, locate, seek, hunt for, search text for"
        ),
        phrases=PHRASES["search"],
    ),
    Row(
        name="think",
        forms=("think … ←",),
        permission=_AWARE,
        help="a private scratchpad, up to the ←",
    ),
    Row(
        name="help",
        forms=("help [COMMAND]",),
        permission=_AWARE,
        help="what you may do, and how",
        synonyms=_words("commands, usage, manual, man"),
        phrases=PHRASES["help"],
    ),
)

_REMEMBERING = (
    Row(
        name="pin",
        forms=("pin ID", 'pin doc:"…" [section:…]', "pin result:N"),
        permission=_AWARE,
        help="keep in your memory block, whatever is pruned",
        synonyms=_words("pin down, keep pinned, add pin, add pin for"),
        phrases=PHRASES["pin"],
    ),
    Row(
        name="stash",
        forms=('stash "label" "text"', 'stash "label" content-of:ID', 'stash "label" summary-of:ID-ID'),
        permission=_AWARE,
        help="keep for later, out of the context",
        synonyms=_words("put aside, set aside, lay aside, stash away, squirrel away"),
        phrases=PHRASES["stash"],
    ),
    Row(
        name="recall",
        forms=('recall "label"',),
        permission=_AWARE,
        help="bring a stash into your memory block",
        synonyms=_words(
            "unstash, retrieve, fetch, recall stash, get stash, fetch stash, retrieve stash, open stash"
        ),
        phrases=PHRASES["recall"],
    ),
    Row(
        name="drop",
        forms=("drop pin:ID", 'drop pin doc:"…" [section:…]', "drop pin:result:N", 'drop stash:"…"'),
        permission=_AWARE,
        help="let a pin or a stash go",
        synonyms=_words(
            "unpin, remove pin, delete pin, forget pin, release pin, drop pin, drop stash, remove stash, "
            "delete stash, forget stash, discard stash, throw away stash, discard pin, get rid of pin, "
            "get rid of stash, clear pin"
        ),
        phrases=PHRASES["drop"],
    ),
    Row(
        name="memory",
        forms=("memory [trace|stashed]",),
        permission=_AWARE,
        verb="look",
        help="what you keep, what you did, what you stashed",
        synonyms=_words(
            "mem, show memory, view memory, open memory, inspect memory, list memory, show trace, view trace"
        ),
        phrases=PHRASES["memory"],
    ),
)

_MAKING = (
    Row(
        name="respond",
        forms=('respond ID "…" [context:ID,…] [instruction:ID,…]',),
        permission=_WRITE,
        help="answer a node; you move to your answer",
        synonyms=_words("reply, say, answer, reply to, respond to, answer to, write back to, say to"),
        phrases=PHRASES["respond"],
    ),
    Row(
        name="annotate",
        forms=('annotate ID "…"',),
        permission=_WRITE,
        help="a note beside a node",
        synonyms=_words(
            "note, comment, comment on, note on, remark, remark on, make note on, add note to, add note on, "
            "leave comment on, leave note on, add comment to, add comment on, add annotation to, "
            "put note on, write note on, make comment on, attach note to, leave remark on, add remark to"
        ),
        phrases=PHRASES["annotate"],
    ),
    Row(
        name="edit",
        forms=('edit ID "…"',),
        permission=_WRITE,
        help="a version in a buffer, a branch in a dialogue",
        synonyms=_words(
            "change, revise, rewrite, reword, modify, update, amend, rephrase, edit text of, correct, alter"
        ),
        phrases=PHRASES["edit"],
    ),
    Row(
        name="merge",
        forms=('merge ID ID … "…"',),
        permission=_WRITE,
        help="one node out of several",
        synonyms=_words(
            "combine, unite, synthesise, synthesize, blend, fuse, merge together, bring together"
        ),
        phrases=PHRASES["merge"],
    ),
    Row(
        name="split",
        forms=('split ID at:"…"',),
        permission=_WRITE,
        help="two nodes out of one, before these words",
        synonyms=_words("divide, break, break up, split up, cut, cut up, break apart, cut apart"),
        phrases=PHRASES["split"],
    ),
    Row(
        name="join",
        forms=("join ID",),
        permission=_WRITE,
        help="a node with the one after it",
        synonyms=_words("unsplit, glue, join up"),
        phrases=PHRASES["join"],
    ),
    Row(
        name="attach",
        forms=('attach ID "item"',),
        permission=_WRITE,
        help="an item to a node",
        synonyms=_words("attach to, attach item to, attach item"),
        phrases=PHRASES["attach"],
    ),
)

_MARKING = (
    Row(
        name="link",
        forms=('link ID to ID|doc:"…"|tree:"…" [note:"…"]',),
        permission=_WRITE,
        help="a reference between two things",
        synonyms=_words(
            "connect, relate, associate, cross-reference, make link between, add link between, add link from, link together, create link between, link up"
        ),
        phrases=PHRASES["link"],
    ),
    Row(
        name="unlink",
        forms=('unlink ID from ID|doc:"…"|tree:"…"',),
        permission=_WRITE,
        help="take a link away",
        synonyms=_words(
            "disconnect, remove link between, remove link from, delete link between, delete link from, drop link between, break link between, cut link between"
        ),
        phrases=PHRASES["unlink"],
    ),
    Row(
        name="tag",
        forms=("tag ID name",),
        permission=_WRITE,
        help="a word to find a node by",
        synonyms=_words("add tag, add tag to, tag with, put tag on, put tag, give tag"),
        phrases=PHRASES["tag"],
    ),
    Row(
        name="untag",
        forms=("untag ID name",),
        permission=_WRITE,
        help="take a tag away",
        synonyms=_words("remove tag, delete tag, drop tag, take off tag, clear tag"),
        phrases=PHRASES["untag"],
    ),
    Row(
        name="bookmark",
        forms=('bookmark ID ["label"]',),
        permission=_WRITE,
        help="mark a node for everybody",
        synonyms=_words(
            "star, favourite, favorite, add bookmark to, add bookmark at, put bookmark on, set bookmark on, set bookmark at, put bookmark at, put star on, give star to, make bookmark at, add star to"
        ),
        phrases=PHRASES["bookmark"],
    ),
    Row(
        name="unbookmark",
        forms=("unbookmark ID",),
        permission=_WRITE,
        help="take a bookmark away",
        synonyms=_words(
            "unstar, unfavourite, unfavorite, remove bookmark, remove bookmark from, delete bookmark, remove star, remove star from, clear bookmark, drop bookmark"
        ),
        phrases=PHRASES["unbookmark"],
    ),
    Row(
        name="prune",
        forms=("prune ID",),
        permission=_WRITE,
        help="fold a branch out of sight; nothing is destroyed",
        synonyms=_words(
            "prune away, prune off, lop off, cut off branch, trim branch, prune branch at, prune branch"
        ),
        phrases=PHRASES["prune"],
    ),
    Row(
        name="restore",
        forms=("restore ID",),
        permission=_WRITE,
        help="bring back what was pruned",
        synonyms=_words("unprune, undelete, revive, reinstate, bring back, put back branch"),
        phrases=PHRASES["restore"],
    ),
    Row(
        name="exclude",
        forms=("exclude ID",),
        permission=_WRITE,
        help="leave a node out of contexts",
        synonyms=_words(
            "leave out, omit, skip, ignore, mute, exclude from context, leave out of context, drop from context, take out of context, remove from context"
        ),
        phrases=PHRASES["exclude"],
    ),
    Row(
        name="include",
        forms=("include ID",),
        permission=_WRITE,
        help="take a node into contexts again",
        synonyms=_words(
            "unexclude, unmute, re-include, reinclude, include again, put back in context, put back into context, include in context, add back to context, take back into context"
        ),
        phrases=PHRASES["include"],
    ),
    Row(
        name="collapse",
        forms=('collapse ID-ID "name" ["description"]',),
        permission=_WRITE,
        help="fold a range under a name",
        synonyms=_words("fold, fold up, collapse range, fold range, collapse from, fold from"),
        phrases=PHRASES["collapse"],
    ),
    Row(
        name="expand",
        forms=('expand "name"',),
        permission=_WRITE,
        help="unfold a collapsed range",
        synonyms=_words(
            "unfold, uncollapse, expand group, unfold group, open group, expand range, unfold range, open collapsed"
        ),
        phrases=PHRASES["expand"],
    ),
    Row(
        name="undo",
        forms=("undo",),
        permission=_WRITE,
        help="take your last operation back",
        synonyms=_words("undo that, undo last, take that back, take it back, revert last"),
        phrases=PHRASES["undo"],
    ),
    Row(
        name="redo",
        forms=("redo",),
        permission=_WRITE,
        help="do again what you undid",
        synonyms=_words("redo that, redo last"),
        phrases=PHRASES["redo"],
    ),
)

_OTHERS = (
    Row(
        name="continue",
        forms=('continue [from ID] [n:N] [tokens:N] [temp:X] [stop:"…"] [using agent:"…"]',),
        permission=_GENERATE,
        verb="generate",
        help="let another agent go on from a node; n is at most 10",
        synonyms=_words(
            "generate, extend, complete, carry on, keep going, write on, sample, go on, proceed, generate from, "
            "expand, make continuation, make continuations, generate continuation, generate continuations, "
            "request continuation, request continuations, get continuation, roll"
        ),
        phrases=PHRASES["continue"],
    ),
    Row(
        name="read",
        forms=('read doc:"…" [summary|lines:A-B|section:…]',),
        permission=Permission.DOC_READ,
        help="a document that is linked to this tree or its nodes",
        synonyms=_words("read out, consult"),
        phrases=PHRASES["read"],
    ),
    Row(
        name="write",
        forms=('write doc:"…" append "…"', 'write doc:"…" at:… "…"', 'write doc:"…" replace:… "…"'),
        permission=Permission.DOC_WRITE,
        help="change a document by line or section; at:12, at:motivation, replace:12-20",
        synonyms=_words("append, append to, write to, write into, write in"),
        phrases=PHRASES["write"],
    ),
)

ROWS: tuple[Row, ...] = (*_LOOKING, *_REMEMBERING, *_MAKING, *_MARKING, *_OTHERS)
CATALOG: Mapping[str, Row] = MappingProxyType({row.name: row for row in ROWS})


def refusal(row: Row, permissions: Iterable[Permission]) -> PermissionDeniedError | None:
    """Why a command would be refused to somebody with these permissions; None if it would not."""
    if row.permission in frozenset(permissions):
        return None
    return PermissionDeniedError(
        f"{row.permission} not enabled",
        hint=f"request elevated permissions or ask the human to {row.verb or row.name}",
    )
