"""Ways of saying each command, for the classifier to learn from. ID, TEXT and DOC stand for what is given."""

from collections.abc import Mapping
from types import MappingProxyType

__all__ = ["PHRASES"]


def _said(text: str) -> tuple[str, ...]:
    return tuple(line.strip() for line in text.strip().splitlines())


PHRASES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "view": _said("""
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
        "list": _said("""
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
        "tree": _said("""
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
        "switch": _said("""
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
        "search": _said("""
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
        "help": _said("""
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
        "pin": _said("""
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
        "stash": _said("""
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
        "recall": _said("""
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
        "drop": _said("""
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
        "memory": _said("""
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
        "respond": _said("""
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
        "annotate": _said("""
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
        "edit": _said("""
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
        "merge": _said("""
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
        "split": _said("""
            make two nodes of ID at TEXT
            make two nodes out of ID at TEXT
            break ID in two at TEXT
            cut ID in two before TEXT
            split ID in two at TEXT
            split ID into two parts at TEXT
            divide ID into two at TEXT
            separate ID into two at TEXT
        """),
        "join": _said("""
            join ID with the one after it
            join ID with what follows
            join ID with the one that follows
            glue ID to the one after it
            glue ID to what follows
            glue ID back together
            make ID and what follows one
        """),
        "attach": _said("""
            make TEXT an attachment of ID
            give ID the attachment TEXT
            add the attachment TEXT to ID
            add TEXT to ID as an attachment
            add TEXT as an attachment to ID
            put the attachment TEXT on ID
            hang the item TEXT on ID
            add the item TEXT to ID
        """),
        "link": _said("""
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
        "unlink": _said("""
            take away the link between ID and ID
            take the link between ID and ID away
            sever the link between ID and ID
            remove the connection between ID and ID
            the link between ID and ID can go
            get rid of the link between ID and ID
        """),
        "tag": _said("""
            give ID the tag TEXT
            put the tag TEXT on ID
            set the tag TEXT on ID
            attach the tag TEXT to ID
            add the tag TEXT to ID
            make TEXT a tag of ID
            ID gets the tag TEXT
        """),
        "untag": _said("""
            take the tag TEXT off ID
            take away the tag TEXT from ID
            take the tag TEXT from ID
            ID should lose the tag TEXT
            the tag TEXT on ID can go
            get rid of the tag TEXT on ID
        """),
        "bookmark": _said("""
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
        "unbookmark": _said("""
            take the bookmark off ID
            take the star off ID
            take away the star from ID
            take the bookmark from ID
            get rid of the bookmark on ID
            the bookmark on ID can go
        """),
        "prune": _said("""
            do a prune of ID
            prune the branch that starts at ID
            prune the branch starting at ID
        """),
        "restore": _said("""
            get ID back from the pruned
            bring the pruned ID back
            bring the pruned branch ID back
            make the pruned ID visible again
            have ID restored
            let ID be restored
            i want the pruned ID back
            give me the pruned branch ID back
        """),
        "exclude": _said("""
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
        "include": _said("""
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
        "collapse": _said("""
            put ID to ID into a group called TEXT
            make a collapsed group TEXT of ID to ID
            fold everything from ID to ID into TEXT
            fold the range from ID to ID under the name TEXT
            collapse everything between ID and ID as TEXT
        """),
        "expand": _said("""
            open up the group TEXT
            open the collapsed range TEXT
            open up the collapsed range TEXT
            show the collapsed range TEXT unfolded
            make the group TEXT unfolded
            have the group TEXT unfolded
            let the group TEXT be expanded
        """),
        "undo": _said("""
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
        "redo": _said("""
            redo what i just undid
            do again what i just undid
            do again what i undid
            redo what was undone
            reapply what i undid
            bring back what i just undid
            bring back the undone change
        """),
        "continue": _said("""
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
        "read": _said("""
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
        "write": _said("""
            add to the end of DOC TEXT append
            append the text TEXT to DOC
            append to the document DOC the text TEXT
            put TEXT at the end of DOC append
            write the text TEXT into DOC
            write the text TEXT to DOC
        """),
    }
)
