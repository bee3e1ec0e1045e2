"""One hierarchy, one table."""

import importlib
import pkgutil

import pytest
from tests.covers import covers

import weft
from weft import errors


def all_errors():
    return [
        value
        for value in vars(errors).values()
        if isinstance(value, type) and issubclass(value, errors.WeftError)
    ]


@covers("error.one-table")
def test_every_error_has_a_code_and_every_code_an_error():
    codes = {error.code for error in all_errors() if error is not errors.WeftError}
    assert codes == set(errors.CODES)


@covers("error.loom-codes")
def test_the_seeds_codes_say_how_to_try_again():
    retry = {code: row.retry for code, row in errors.CODES.items()}
    assert retry["NOT_FOUND"] == retry["PERMISSION_DENIED"] == "no"
    assert retry["INVALID_SYNTAX"] == "rephrase"
    assert retry["LIMIT_EXCEEDED"] == "reduce"
    assert retry["CROSS_TREE"] == "with flag"
    assert retry["CONFLICT"] == "retry"
    assert retry["MODEL_ERROR"] == "maybe"


@covers("error.further-codes")
def test_the_other_faces_codes_stand_in_the_same_table():
    rows = {code: (row.http, row.exit, row.mcp) for code, row in errors.CODES.items()}
    assert rows["INVALID_INPUT"] == (400, 2, -32602)
    assert rows["UNAUTHENTICATED"] == (401, 4, -32004)
    assert rows["CONTEXT_LIMIT"] == (422, 5, -32602)
    assert (rows["STORAGE"][0], rows["UNAVAILABLE"][0]) == (507, 503)
    assert all(code < 0 < leaving for _, leaving, code in rows.values())


def test_an_error_carries_its_hint():
    error = errors.NotFoundError("no such thing", hint="look elsewhere")
    assert (error.code, error.retryable, str(error)) == (
        "NOT_FOUND",
        False,
        "no such thing (hint: look elsewhere)",
    )


def modules():
    names = [module.name for module in pkgutil.walk_packages(weft.__path__, "weft.")]
    return ["weft", *(name for name in names if "migrations" not in name and not name.endswith("__main__"))]


FACES = ("weft.mcp_server", "weft.server")  # what they need takes long to load


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.outer if name.startswith(FACES) else ()) for name in modules()],
)
def test_public_names_are_sorted_and_exist(name):
    module = importlib.import_module(name)
    public = getattr(module, "__all__", [])
    order = sorted(public, key=lambda n: (not n.isupper(), not n[0].isupper(), n))
    assert list(public) == order
    assert all(hasattr(module, entry) for entry in public)
