"""The addresses that `readUrl` may read: attached on the path to a turn, and in its tree's project."""

from sqlalchemy import and_, select

from weft.context.items.item_types import ItemType
from weft.knowledge.html_text import page_text
from weft.knowledge.tools.base import WebPage
from weft.providers.web_page import PageReader
from weft.runtime.coordination.background import model_loop
from weft.runtime.operations.executor import Caller
from weft.runtime.operations.projects import load_project
from weft.runtime.views.reader import Reader
from weft.store import schema
from weft.tree.node import Node
from weft.tree.reference import ProjectItemKind

_HTML = ("text/html", "application/xhtml+xml")


def attached_urls(caller: Caller, at: Node) -> list[str]:
    """Each once: those of the path first."""
    items, nodes, trees = schema.attachments, schema.nodes, schema.trees
    reader = Reader.of(caller)
    with caller.reading() as session:
        tree = select(trees.c.key, trees.c.project).where(trees.c.ulid == at.tree_id)
        row = session.execute(tree).one()
        hung = (
            select(items.c.id, nodes.c.ulid)
            .join(nodes, and_(nodes.c.tree == items.c.tree, nodes.c.key == items.c.node))
            .where(
                items.c.tree == row.key,
                items.c.type == ItemType.URL.value,
                items.c.detached_by.is_(None),
                nodes.c.pruned.is_(None),
                nodes.c.hidden.is_(None),
            )
            .order_by(items.c.node, items.c.ordinal)
        )
        attached = [(each.id, each.ulid) for each in session.execute(hung)]
        own: list[str] = []
        if row.project is not None:
            projects = schema.projects
            ulid = session.execute(select(projects.c.ulid).where(projects.c.key == row.project)).scalar_one()
            context = load_project(session, ulid).context
            own = [each.reference for each in context if each.kind is ProjectItemKind.URL]
    near = [url for url, node in attached if reader.leads_to(at.tree_id, node, at.id)]
    return list(dict.fromkeys([*near, *own]))


def read_page(reader: PageReader, url: str) -> WebPage:
    """A page as text, for a caller that waits for it."""
    page = model_loop().submit(reader.read(url)).result()
    title, text = page_text(page.text) if page.kind in _HTML else ("", page.text)
    return WebPage(title, url, text.encode(errors="replace").decode())
