"""snake_case in Python, camelCase outside, by one rule that goes both ways."""

import dataclasses
import importlib
import pkgutil
import re

import pytest
from tests.covers import covers

import weft
from weft.context.settings import Preferences
from weft.tree.json import camel, snake
from weft.tree.json_names import to_wire


def every_field():
    for module in pkgutil.walk_packages(weft.__path__, "weft."):
        if ".migrations" in module.name or module.name.endswith("__main__"):
            continue
        for value in vars(importlib.import_module(module.name)).values():
            if dataclasses.is_dataclass(value) and isinstance(value, type):
                yield from ((value.__qualname__, field.name) for field in dataclasses.fields(value))


@pytest.mark.outer
@covers("naming.one-alias-rule")
def test_every_name_goes_out_and_comes_back():
    names = {name for _, name in every_field() if not name.startswith("_")}
    assert len(names) > 300
    assert [name for name in sorted(names) if snake(camel(name)) != name] == []
    assert [name for name in sorted(names) if not re.fullmatch(r"[a-z][A-Za-z0-9]*", camel(name))] == []


@covers("naming.one-alias-rule")
@pytest.mark.parametrize("value", [Preferences()])
def test_what_goes_out_has_these_names(value):
    assert list(to_wire(value)) == [camel(field.name) for field in dataclasses.fields(value)]


@covers("naming.one-alias-rule")
def test_what_comes_in_may_be_written_either_way(fresh_loom):
    tree = fresh_loom.plant("Names", preferences={"minimumRecentNodes": 1})
    assert tree.prefer(minimum_recent_nodes=2).value.preferences == {"minimumRecentNodes": 2}
