"""All commands in one table: how they are said, what they need, what they do."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

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


def _phrases(text: str) -> tuple[str, ...]:
    return tuple(line.strip() for line in text.strip().splitlines())


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
            "peek, check out, pull up, bring up, open up, print, have peek at, take peek at"
        ),
        phrases=_phrases("""
            what does ID say
            what is in ID
            what's in ID
            what was said in ID
            show what ID says
            show the content of ID
            show the contents of ID
            show the text of ID
            see the full text of ID
            read out ID in full
            read ID in full
            let me read ID
            what is the text of ID
            tell me what ID says
            give me ID
            give me the text of ID
            give me the content of ID
            show everything ID says
            look closely at ID
            i want a look at ID
            view the complete text of ID
            show the details of ID
            view details for ID
        """),
    ),
    Row(
        name="list",
        forms=("list ID continuations|annotations|links|versions",),
        permission=_AWARE,
        help="list what hangs on a node",
        synonyms=_words("enumerate, ls, list out, list all"),
        phrases=_phrases("""
            what continuations does ID have
            which continuations does ID have
            which annotations are on ID
            what annotations are there on ID
            what notes are on ID
            which links does ID have
            what is linked to ID links
            how many continuations does ID have
            which versions of ID exist
            what versions of ID are there
            what are the children of ID
            what replies does ID have
            give me the annotations of ID
            give me all links of ID
            are there annotations on ID
            does ID have annotations
            does ID have any versions
            tell me the continuations of ID
            every continuation of ID continuations
        """),
    ),
    Row(
        name="tree",
        forms=("tree [from:ID] [depth:N] [summary]",),
        permission=_AWARE,
        help="draw the tree; * is where you are",
        synonyms=_words(
            "map, outline, show tree, view tree, draw tree, print tree, display tree, see tree, show map, "
            "show outline, draw map, list tree, show structure, view structure"
        ),
        phrases=_phrases("""
            what does the tree look like
            show the structure of the tree
            show the shape of the tree
            draw the structure
            give me the tree
            give me an outline of the tree
            give me a map of the tree
            an overview of the tree
            show an overview of the tree
            show me the whole structure of this tree
            how is the tree structured
            what is the structure below ID
        """),
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
        phrases=_phrases("""
            bring me to ID
            i want to be at ID
            take me over to ID
            put me at ID
            place me at ID
            change position to ID
            change my position to ID
            set my position to ID
            set the cursor to ID
            move the cursor to ID
            move my cursor to ID
            make ID my position
            let me stand at ID
            go over to ID
        """),
    ),
    Row(
        name="search",
        forms=('search "query"', 'search "query" in:grove'),
        permission=_AWARE,
        help="full text of this tree",
        synonyms=_words(
            "find, grep, look for, look up, search for, query, locate, seek, hunt for, search text for"
        ),
        phrases=_phrases("""
            where is TEXT mentioned
            where does TEXT occur
            where does TEXT appear
            which nodes mention TEXT
            which nodes contain TEXT
            which nodes talk about TEXT
            what nodes mention TEXT
            is TEXT mentioned anywhere
            does anyone mention TEXT
            show all nodes that mention TEXT
            show nodes mentioning TEXT
            list nodes containing TEXT
            nodes with the words TEXT
            run a search for TEXT
            do a search for TEXT
            make a search for TEXT
            full text search TEXT
        """),
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
        synonyms=_words("commands, ?, usage, manual, man"),
        phrases=_phrases("""
            what can i do
            what can i do here
            what commands are there
            which commands are there
            which commands do i have
            what commands do i have
            list commands
            list the commands
            show commands
            show available commands
            show help
            show me the help
            give me help
            i need help
            how does this work
            what am i allowed to do
            what are my permissions
            show my permissions
        """),
    ),
)

_REMEMBERING = (
    Row(
        name="pin",
        forms=("pin ID", 'pin doc:"…" [section:…]', "pin result:N"),
        permission=_AWARE,
        help="keep in your memory block, whatever is pruned",
        synonyms=_words("pin down, keep pinned, add pin, add pin for"),
        phrases=_phrases("""
            keep ID pinned
            keep ID in memory
            keep ID in my memory
            hold ID in memory
            hold on to ID
            keep ID in context always
            always keep ID in context
            make ID a pin
            put ID in my memory block
            put a pin on ID
            put a pin in ID
            have ID pinned
            add ID to my pins
            keep ID in view
        """),
    ),
    Row(
        name="stash",
        forms=('stash "label" "text"', 'stash "label" content-of:ID', 'stash "label" summary-of:ID-ID'),
        permission=_AWARE,
        help="keep for later, out of the context",
        synonyms=_words("put aside, set aside, lay aside, stash away, squirrel away"),
        phrases=_phrases("""
            stash away TEXT for later
            put aside TEXT for later
            keep TEXT for later under TEXT
            keep for later under the label TEXT the text TEXT
            store a stash TEXT with TEXT
            make a stash TEXT with TEXT
            make a stash called TEXT with TEXT
            create a stash called TEXT containing TEXT
            put in a stash TEXT the text TEXT
        """),
    ),
    Row(
        name="recall",
        forms=('recall "label"',),
        permission=_AWARE,
        help="bring a stash into your memory block",
        synonyms=_words(
            "unstash, retrieve, fetch, recall stash, get stash, fetch stash, retrieve stash, open stash"
        ),
        phrases=_phrases("""
            get the stash TEXT
            get my stash TEXT back
            get back the stash TEXT
            give me the stash TEXT
            give me back my stash TEXT
            what was in the stash TEXT
            what is in stash TEXT
            show the stash TEXT
            show me my stash TEXT
            bring the stash TEXT back
            bring my stash TEXT back
            take the stash TEXT out
            pull the stash TEXT out
            what did i stash as TEXT
            what did i stash under TEXT
        """),
    ),
    Row(
        name="drop",
        forms=("drop pin:ID", 'drop stash:"…"'),
        permission=_AWARE,
        help="let a pin or a stash go",
        synonyms=_words(
            "unpin, remove pin, delete pin, forget pin, release pin, drop pin, drop stash, remove stash, "
            "delete stash, forget stash, discard stash, throw away stash, discard pin, get rid of pin, "
            "get rid of stash, clear pin"
        ),
        phrases=_phrases("""
            take the pin off ID
            take away the pin on ID
            take the pin from ID
            stop pinning ID
            let the pin on ID go
            let go of the pin on ID
            let go of the stash TEXT
            throw the stash TEXT away
            the pin on ID can go
            the stash TEXT can go
        """),
    ),
    Row(
        name="memory",
        forms=("memory [trace|stashed]",),
        permission=_AWARE,
        help="what you keep, what you did, what you stashed",
        synonyms=_words(
            "mem, show memory, view memory, open memory, inspect memory, list memory, show trace, view trace"
        ),
        phrases=_phrases("""
            what is in my memory
            what do i have in memory
            what do i remember
            what have i pinned
            what have i stashed
            which stashes do i have
            list my stashes
            show my stashes
            list stashes
            show stashed
            what did i do so far trace
            what have i done trace
            show my recent actions
            list my recent actions
            show the trace of my actions
            show my action trace
            show the memory trace
            show errors in the trace
            show my memory
            show my memory block
        """),
    ),
)

_MAKING = (
    Row(
        name="respond",
        forms=('respond ID "…" [context:ID,…] [instruction:ID,…]',),
        permission=_WRITE,
        help="answer a node; you move to your answer",
        synonyms=_words("reply, say, answer, reply to, respond to, answer to, write back to, say to"),
        phrases=_phrases("""
            send a reply to ID TEXT
            send ID the reply TEXT
            write a reply to ID TEXT
            write a response to ID TEXT
            write an answer to ID TEXT
            make a reply to ID TEXT
            give ID the answer TEXT
            add a reply to ID TEXT
            add a response to ID TEXT
            add a reply under ID TEXT
            post a reply to ID TEXT
            post a reply under ID TEXT
            my answer to ID is TEXT
            my reply to ID is TEXT
            tell ID TEXT
            i answer ID TEXT
            in response to ID say TEXT
            in reply to ID TEXT
        """),
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
        phrases=_phrases("""
            leave ID a note TEXT
            leave the note TEXT on ID
            add the note TEXT to ID
            add the comment TEXT to ID
            put the comment TEXT on ID
            put an annotation on ID TEXT
            make an annotation on ID TEXT
            write an annotation on ID TEXT
            write in the margin of ID TEXT
            jot down on ID TEXT
            scribble on ID TEXT
            beside ID note TEXT
            next to ID note TEXT
        """),
    ),
    Row(
        name="edit",
        forms=('edit ID "…"',),
        permission=_WRITE,
        help="a version in a buffer, a branch in a dialogue",
        synonyms=_words(
            "change, revise, rewrite, reword, modify, update, amend, rephrase, edit text of, correct, alter"
        ),
        phrases=_phrases("""
            make ID say TEXT
            make ID read TEXT
            let ID say TEXT
            let ID read TEXT
            change the text of ID to TEXT
            change the content of ID to TEXT
            change what ID says to TEXT
            set the text of ID to TEXT
            set the content of ID to TEXT
            rewrite ID so that it says TEXT
            reword ID so that it reads TEXT
            replace the text of ID with TEXT
            replace the content of ID with TEXT
            replace the words of ID by TEXT
            put TEXT in place of the text of ID
            ID should say TEXT
            ID should read TEXT
            make an edit to ID TEXT
        """),
    ),
    Row(
        name="merge",
        forms=('merge ID ID … "…"',),
        permission=_WRITE,
        help="one node out of several",
        synonyms=_words(
            "combine, unite, synthesise, synthesize, blend, fuse, merge together, bring together"
        ),
        phrases=_phrases("""
            make one node of ID and ID TEXT
            make one node out of ID and ID TEXT
            make a merge of ID and ID TEXT
            put ID and ID together as TEXT
            bring ID and ID together as TEXT
            turn ID and ID into one TEXT
            weave ID and ID together TEXT
            melt ID and ID together TEXT
            a merge of ID and ID saying TEXT
        """),
    ),
    Row(
        name="split",
        forms=('split ID at:"…"',),
        permission=_WRITE,
        help="two nodes out of one, before these words",
        synonyms=_words("divide, break, break up, split up, cut, cut up, break apart, cut apart"),
        phrases=_phrases("""
            make two nodes of ID at TEXT
            make two nodes out of ID at TEXT
            break ID in two at TEXT
            cut ID in two before TEXT
            split ID in two at TEXT
            split ID into two parts at TEXT
            divide ID into two at TEXT
            separate ID into two at TEXT
        """),
    ),
    Row(
        name="join",
        forms=("join ID",),
        permission=_WRITE,
        help="a node with the one after it",
        synonyms=_words("unsplit, glue, join up"),
        phrases=_phrases("""
            join ID with the one after it
            join ID with what follows
            join ID with the one that follows
            glue ID to the one after it
            glue ID to what follows
            glue ID back together
            make ID and what follows one
        """),
    ),
    Row(
        name="attach",
        forms=('attach ID "item"',),
        permission=_WRITE,
        help="an item to a node",
        synonyms=_words("attach to, attach item to, attach item"),
        phrases=_phrases("""
            make TEXT an attachment of ID
            give ID the attachment TEXT
            add the attachment TEXT to ID
            add TEXT to ID as an attachment
            add TEXT as an attachment to ID
            put the attachment TEXT on ID
            hang the item TEXT on ID
            add the item TEXT to ID
        """),
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
        phrases=_phrases("""
            draw a link between ID and ID
            put a link between ID and ID
            set a link from ID to ID
            make a link from ID to ID
            create a link from ID to ID
            tie ID to ID
            tie ID and ID together
            have ID refer to ID
            make ID refer to ID
            add a connection between ID and ID
            make a connection between ID and ID
            add a reference from ID to ID
            ID and ID belong together link them
        """),
    ),
    Row(
        name="unlink",
        forms=('unlink ID from ID|doc:"…"|tree:"…"',),
        permission=_WRITE,
        help="take a link away",
        synonyms=_words(
            "disconnect, remove link between, remove link from, delete link between, delete link from, drop link between, break link between, cut link between"
        ),
        phrases=_phrases("""
            take away the link between ID and ID
            take the link between ID and ID away
            sever the link between ID and ID
            remove the connection between ID and ID
            the link between ID and ID can go
            get rid of the link between ID and ID
        """),
    ),
    Row(
        name="tag",
        forms=("tag ID name",),
        permission=_WRITE,
        help="a word to find a node by",
        synonyms=_words("add tag, add tag to, tag with, put tag on, put tag, give tag"),
        phrases=_phrases("""
            give ID the tag TEXT
            put the tag TEXT on ID
            set the tag TEXT on ID
            attach the tag TEXT to ID
            add the tag TEXT to ID
            make TEXT a tag of ID
            ID gets the tag TEXT
        """),
    ),
    Row(
        name="untag",
        forms=("untag ID name",),
        permission=_WRITE,
        help="take a tag away",
        synonyms=_words("remove tag, delete tag, drop tag, take off tag, clear tag"),
        phrases=_phrases("""
            take the tag TEXT off ID
            take away the tag TEXT from ID
            take the tag TEXT from ID
            ID should lose the tag TEXT
            the tag TEXT on ID can go
            get rid of the tag TEXT on ID
        """),
    ),
    Row(
        name="bookmark",
        forms=('bookmark ID ["label"]',),
        permission=_WRITE,
        help="mark a node for everybody",
        synonyms=_words(
            "star, favourite, favorite, add bookmark to, add bookmark at, put bookmark on, set bookmark on, set bookmark at, put bookmark at, put star on, give star to, make bookmark at, add star to"
        ),
        phrases=_phrases("""
            give ID a star
            give ID a bookmark
            make ID a favourite
            make ID a favorite
            make ID a bookmark
            put a star next to ID
            leave a bookmark at ID
            leave a bookmark on ID
            add ID to the bookmarks
            add ID to my favourites
            add ID to the favorites
            ID deserves a star
        """),
    ),
    Row(
        name="unbookmark",
        forms=("unbookmark ID",),
        permission=_WRITE,
        help="take a bookmark away",
        synonyms=_words(
            "unstar, unfavourite, unfavorite, remove bookmark, remove bookmark from, delete bookmark, remove star, remove star from, clear bookmark, drop bookmark"
        ),
        phrases=_phrases("""
            take the bookmark off ID
            take the star off ID
            take away the star from ID
            take the bookmark from ID
            get rid of the bookmark on ID
            the bookmark on ID can go
        """),
    ),
    Row(
        name="prune",
        forms=("prune ID",),
        permission=_WRITE,
        help="fold a branch out of sight; nothing is destroyed",
        synonyms=_words(
            "prune away, prune off, lop off, cut off branch, trim branch, prune branch at, prune branch"
        ),
        phrases=_phrases("""
            do a prune of ID
            prune the branch that starts at ID
            prune the branch starting at ID
        """),
    ),
    Row(
        name="restore",
        forms=("restore ID",),
        permission=_WRITE,
        help="bring back what was pruned",
        synonyms=_words("unprune, undelete, revive, reinstate, bring back, put back branch"),
        phrases=_phrases("""
            get ID back from the pruned
            bring the pruned ID back
            bring the pruned branch ID back
            make the pruned ID visible again
            have ID restored
            let ID be restored
            i want the pruned ID back
            give me the pruned branch ID back
        """),
    ),
    Row(
        name="exclude",
        forms=("exclude ID",),
        permission=_WRITE,
        help="leave a node out of contexts",
        synonyms=_words(
            "leave out, omit, skip, ignore, mute, exclude from context, leave out of context, drop from context, take out of context, remove from context"
        ),
        phrases=_phrases("""
            keep ID out of the context
            keep ID out of context
            leave ID out
            leave ID out of the context
            leave ID out of contexts
            take ID out of the context
            take ID out of context
            remove ID from the context
            ID should be left out of the context
            have ID excluded
            let ID be excluded
        """),
    ),
    Row(
        name="include",
        forms=("include ID",),
        permission=_WRITE,
        help="take a node into contexts again",
        synonyms=_words(
            "unexclude, unmute, re-include, reinclude, include again, put back in context, put back into context, include in context, add back to context, take back into context"
        ),
        phrases=_phrases("""
            put ID back into the context
            put ID back in context
            put ID in the context again
            take ID into the context again
            take ID back into the context
            let ID be in the context again
            bring ID back into the context
            bring ID back into context
            ID should be in the context again
            ID should be part of the context again
            have ID included again
            add ID to the context again
        """),
    ),
    Row(
        name="collapse",
        forms=('collapse ID-ID "name" ["description"]',),
        permission=_WRITE,
        help="fold a range under a name",
        synonyms=_words("fold, fold up, collapse range, fold range, collapse from, fold from"),
        phrases=_phrases("""
            put ID to ID into a group called TEXT
            make a collapsed group TEXT of ID to ID
            fold everything from ID to ID into TEXT
            fold the range from ID to ID under the name TEXT
            collapse everything between ID and ID as TEXT
        """),
    ),
    Row(
        name="expand",
        forms=('expand "name"',),
        permission=_WRITE,
        help="unfold a collapsed range",
        synonyms=_words(
            "unfold, uncollapse, expand group, unfold group, open group, expand range, unfold range, open collapsed"
        ),
        phrases=_phrases("""
            open up the group TEXT
            open the collapsed range TEXT
            open up the collapsed range TEXT
            show the collapsed range TEXT unfolded
            make the group TEXT unfolded
            have the group TEXT unfolded
            let the group TEXT be expanded
        """),
    ),
    Row(
        name="undo",
        forms=("undo",),
        permission=_WRITE,
        help="take your last operation back",
        synonyms=_words("undo that, undo last, take that back, take it back, revert last"),
        phrases=_phrases("""
            take back my last step
            take back what i just did
            take back the last change
            revert my last change
            revert what i just did
            revert that
            undo what i just did
            undo my last step
            that was a mistake undo
            oops undo
        """),
    ),
    Row(
        name="redo",
        forms=("redo",),
        permission=_WRITE,
        help="do again what you undid",
        synonyms=_words("redo that, redo last"),
        phrases=_phrases("""
            redo what i just undid
            do again what i just undid
            do again what i undid
            redo what was undone
            reapply what i undid
            bring back what i just undid
            bring back the undone change
        """),
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
            "request continuation, request continuations, get continuation, get continuations, roll"
        ),
        phrases=_phrases("""
            let the story go on from ID
            let the text go on from ID
            have the model go on from ID
            have the model continue from ID
            let a model continue ID
            ask the model to continue from ID
            ask for a continuation of ID
            ask for continuations of ID
            give me continuations of ID
            give me a continuation of ID
            give me more from ID
            write more from ID
            produce continuations of ID
            produce a continuation from ID
            draw samples from ID
            make the model go on from ID
            what happens next after ID continue
            spin ID further
            take ID further
            request a completion from ID
        """),
    ),
    Row(
        name="read",
        forms=('read doc:"…" [summary|lines:A-B|section:…]',),
        permission=Permission.DOC_READ,
        help="a document that is linked to this tree or its nodes",
        synonyms=_words("read out, consult"),
        phrases=_phrases("""
            what does DOC say
            what is in DOC
            what's in DOC
            give me DOC
            give me the text of DOC
            let me read DOC
            show what DOC says
            show the contents of DOC
            show the content of DOC
            have a read of DOC
            take a look into DOC
            look into DOC
            go through DOC
        """),
    ),
    Row(
        name="write",
        forms=('write doc:"…" append "…"', 'write doc:"…" at:… "…"', 'write doc:"…" replace:… "…"'),
        permission=Permission.DOC_WRITE,
        help="change a document by line or section; at:12, at:motivation, replace:12-20",
        synonyms=_words("append, append to, write to, write into, write in"),
        phrases=_phrases("""
            add to the end of DOC TEXT append
            append the text TEXT to DOC
            append to the document DOC the text TEXT
            put TEXT at the end of DOC append
            write the text TEXT into DOC
            write the text TEXT to DOC
        """),
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
