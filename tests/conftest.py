"""Real stores for every test: SQLite in a folder of its own, PostgreSQL in a database of its own."""

import atexit
import gc
import inspect
import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from tests import postgres

import weft
from weft.grove.grove import open_grove
from weft.store.addresses import open_store

# A run started in the background ignores interrupts, and so would the commands that tests interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Tests count statements and look at files, so nothing works in the background but where that is the point.
_opening = inspect.unwrap(open_grove)
_opening.__kwdefaults__ = {**(_opening.__kwdefaults__ or {}), "background": False}

# No test asks anyone outside this machine, whatever keys its environment has.
os.environ["WEFT_OFFLINE"] = "1"

# What groves on a server keep beside it is not put with the groves of whoever runs the tests.
_DATA = tempfile.mkdtemp(prefix="weft-tests-")
atexit.register(shutil.rmtree, _DATA, ignore_errors=True)
os.environ["XDG_DATA_HOME"] = _DATA

# Where something does work in the background, no model is asked by the way.
os.environ["WEFT_SUMMARIES"] = "off"

settings.register_profile(
    "fixed", derandomize=True, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True
)
settings.register_profile("prove", parent=settings.get_profile("fixed"), derandomize=False, max_examples=1000)
settings.register_profile("inner", parent=settings.get_profile("fixed"), max_examples=5)
# The inner loop is a quick look while one works: SQLite, few examples, and nothing of the faces, of asking
# models, of moving whole groves, and of other processes, servers and full disks. All of it is `make test`.
_INNER = bool(os.environ.get("WEFT_INNER"))
_OUTER = [
    "cli",
    "collaboration",
    "generation",
    "summaries",
    "mcp_server",
    "provenance/test_bundle.py",
    "provenance/test_every_byte.py",
    "provenance/test_timestamps.py",
    "providers/test_contract.py",
    "contexts/test_odd_contexts.py",
    "search/test_indexer.py",
    "server",
    "store/test_group_commit.py",
    "store/test_kill.py",
    "store/test_trouble.py",
    "test_imports.py",
    "transfer",
    "web",
]
collect_ignore = _OUTER if _INNER else []  # not even loaded
_FIGURE = "figure: "
_NAMED = 200
settings.load_profile("prove" if os.environ.get("WEFT_PROVE") else "inner" if _INNER else "fixed")


@pytest.hookimpl(tryfirst=True)  # before xdist looks for groups
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests that share a grove run in one process, so that each process does not make its own."""
    if _INNER:
        left = [item for item in items if _is_outer(item)]
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if not _is_outer(item)]
    for item in items:
        callspec = getattr(item, "callspec", None)
        store = None if callspec is None else callspec.params.get("module_address")
        if store is not None and item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(f"{item.location[0]} {store}"))


def pytest_collection_finish() -> None:
    """What was loaded stays to the end: nothing is gained by looking through it for garbage."""
    gc.freeze()


def _is_outer(item: pytest.Item) -> bool:
    return _needs_a_server(item) or any(item.get_closest_marker(name) for name in ("long", "outer"))


def _needs_a_server(item: pytest.Item) -> bool:
    callspec = getattr(item, "callspec", None)
    chosen = [] if callspec is None else list(callspec.params.values())
    return "postgres" in chosen or "postgres_server" in getattr(item, "fixturenames", ())


def pytest_make_parametrize_id(val: object) -> str | None:
    """A long text is named by its beginning and its length: processes tell each other the names of all tests."""
    if not isinstance(val, str | bytes) or len(val) <= _NAMED:
        return None
    return f"{val[:_NAMED]!r} of {len(val)}"


@pytest.fixture
def figure(record_property: Callable[[str, object], None]) -> Callable[[str, str], None]:
    """Tells at the end of a run what a proof came to: `figure("writes lost", "0 of 12,000")`."""

    def tell(what: str, amount: str) -> None:
        record_property(f"{_FIGURE}{what}", amount)

    return tell


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """The figures of proofs, whether they were run whole or as a sample."""
    told = [
        (report.nodeid, name.removeprefix(_FIGURE), amount)
        for reports in terminalreporter.stats.values()
        for report in reports
        if getattr(report, "when", None) == "call"
        for name, amount in report.user_properties
        if name.startswith(_FIGURE)
    ]
    if told:
        terminalreporter.section("figures" if os.environ.get("WEFT_PROVE") else "figures, of a sample")
    for test, what, amount in sorted(told):
        place = test.partition("[")[2].rstrip("]")
        terminalreporter.write_line(f"{what}{f' ({place})' if place else ''}: {amount}")


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    with postgres.server() as address:
        yield address


@pytest.fixture(scope="session")
def empty_tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with tables and nothing in them: copied faster than made."""
    path = tmp_path_factory.mktemp("tables") / "grove.db"
    open_store(path).close()
    return path


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def module_address(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, empty_tables: Path
) -> Iterator[str]:
    """A fresh grove address, shared by the tests of one module."""
    if request.param == "sqlite":
        yield shutil.copy(empty_tables, str(tmp_path_factory.mktemp("grove") / "grove.db"))
        return
    server = request.getfixturevalue("postgres_server")
    with postgres.database(server) as address:
        yield address


@pytest.fixture(params=["sqlite", "postgres"])
def address(request: pytest.FixtureRequest, tmp_path: Path, empty_tables: Path) -> Iterator[str]:
    """A fresh grove address for one test."""
    if request.param == "sqlite":
        yield shutil.copy(empty_tables, str(tmp_path / "grove.db"))
        return
    server = request.getfixturevalue("postgres_server")
    with postgres.emptied_database(server) as fresh:
        yield fresh


@pytest.fixture(scope="module")
def loom(module_address: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[weft.Grove]:
    """A grove on each store; tests plant trees of their own in it."""
    previous = os.environ.get("WEFT_BLOBS")
    os.environ["WEFT_BLOBS"] = str(tmp_path_factory.mktemp("blobs"))
    with weft.open(module_address) as grove:
        yield grove
    if previous is None:
        del os.environ["WEFT_BLOBS"]
    else:
        os.environ["WEFT_BLOBS"] = previous


@pytest.fixture
def fresh_loom(address: str) -> Iterator[weft.Grove]:
    """A grove that no other test has seen."""
    with weft.open(address) as grove:
        yield grove
