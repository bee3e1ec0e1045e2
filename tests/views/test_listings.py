"""Trees page by page: those that a user may look at, by a statement that does not grow with their number."""

from sqlalchemy import select
from tests.covers import covers
from tests.statements import statements

import weft
from weft.runtime.operations.permissions import Actor
from weft.runtime.views.listings import tree_page
from weft.runtime.views.reader import Reader
from weft.store import schema


@covers("user.roles")
def test_a_user_lists_the_trees_of_its_roles_by_one_statement_of_fixed_length(fresh_loom: weft.Grove):
    trees = [fresh_loom.plant(f"Tree {number}") for number in range(6)]
    fresh_loom.users.add("Ann", role=None)
    store = fresh_loom.caller.store
    with store.read() as session:
        row = session.execute(select(schema.users.c.agent, schema.users.c.key)).one()
    reader = Reader(store, Actor(row.agent, row.key))
    asked = []
    for count, tree in enumerate(trees[:5], 1):
        fresh_loom.users.set_role("Ann", "reader", tree=tree.id)
        with statements(store, mine=True) as heard:
            listed = tree_page(reader, limit=100)
        assert {each.id for each in listed} == {each.id for each in trees[:count]}
        asked.append(heard[-1])
    assert len(set(asked)) == 1
