"""Recorded examples put into a grove, and how recipes over one are written."""

import weft
from weft.context.recipes.collapsed_groups import GroupParts
from weft.store.records import GroupDocument, put_entries
from weft.tree.record import RecordDraft, RecordPlace, dump_document

SHELVES = list(GroupParts)


def load(grove: weft.Grove, documents: dict) -> None:
    """Each document where the service kept it: a record of a stream, or an entry of the index."""
    drafts = []
    for path, document in documents.items():
        parts = path.split("/")
        user = parts[1] if parts[0] == "users" else None
        rest = parts[2:] if user is not None else parts
        if rest[0] == "convo.sessions" and rest[2] == "indexes":
            put(grove, user, rest[1], rest[4], "/".join(rest[5:]), document)
            continue
        session = rest[1] if rest[0] == "convo.sessions" else None
        stream, name = rest[-2:]
        place = RecordPlace(stream=stream, user=user, session=session)
        drafts.append(
            RecordDraft(place=place, document=document, id=name, create_time=document.get("create_time"))
        )
    grove.records.append_in_parts(drafts)


def put(grove, user, session, shelf, name, document):
    entry = GroupDocument(SHELVES.index(shelf), name, dump_document(document, "document"))
    grove.read.store.write(lambda transaction: put_entries(transaction, user or "", session, [entry]))


def index_of(grove: weft.Grove) -> dict:
    """The index as documents by path."""
    import json

    from weft.store import schema

    with grove.read.store.read() as session:
        rows = list(session.execute(schema.group_index.select()))
    found = {}
    for row in rows:
        scope = f"users/{row.user}/" if row.user else ""
        place = f"{scope}convo.sessions/{row.session}/indexes/collapsed/{SHELVES[row.shelf]}/{row.name}"
        found[place] = json.loads(row.document)
    return found


def yoj(name, framing=""):
    return {"kind": "yoj", "name": name, "framing": framing}


def contents(followed):
    return [message["content"] for message in followed.messages]


def path_recipe(tree, node, *components, **more):
    return {
        "kala": {"kind": "Path", "treeId": tree.id, "nodeId": node.id, **more.pop("options", {})},
        "model": {"filters": [], "components": list(components), **more},
    }
