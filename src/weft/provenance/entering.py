"""Who may enter, against what the grove's chain says: a role or token that nobody gave is found."""

from sqlalchemy import select

from weft.provenance.facts import role_fact, token_fact, user_fact
from weft.provenance.holdings import Inspection, vouch
from weft.provenance.rows import fetch, text_of
from weft.store import schema
from weft.store.transaction import GROVE

__all__ = ["check_users"]

_trees = schema.trees


def check_users(mine: Inspection) -> None:
    """Users, their roles, and the tokens that let them in."""
    session, findings, agents = mine.session, mine.findings, mine.agents.ulids
    names: dict[int, str] = {}
    for row in fetch(session, findings, schema.users):
        names[row.key] = row.ulid
        fact = user_fact(row._asdict(), agents.get(row.agent, str(row.agent)))
        vouch(mine, "user", row.ulid, "name, agent or times", fact)
    for row in fetch(session, findings, schema.tokens):
        fact = token_fact(row._asdict(), names.get(row.user, str(row.user)))
        vouch(mine, "token", row.ulid, "user, hash, label, kind or times", fact)
    for row in fetch(session, findings, schema.memberships):
        user = names.get(row.user, str(row.user))
        tree = None
        if row.tree != GROVE:
            tree = text_of(session, select(_trees.c.ulid).where(_trees.c.key == row.tree)) or str(row.tree)
        vouch(mine, "role", user, f"role on {tree or 'the grove'}", role_fact(user, tree, row.role))
