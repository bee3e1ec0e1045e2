"""The whole document tried with anything it allows, and with much that it does not."""

import warnings
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient
from tests.covers import covers
from tests.server.conftest import KEY

from weft.grove.grove import open_grove
from weft.server import ServerSettings, create_app

with warnings.catch_warnings():
    # It looks for plugins of other tools as it is imported.
    warnings.simplefilter("ignore")
    import schemathesis
    from schemathesis.specs.openapi.checks import response_schema_conformance, status_code_conformance

ENDLESS = {"/api/events"}
HEADERS = {"Authorization": f"Bearer {KEY}"}
MANY = settings.get_current_profile_name() == "prove"


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory):
    path: Path = tmp_path_factory.mktemp("fuzzed") / "grove.db"
    with open_grove(path) as grove:
        yield create_app(grove, ServerSettings(keys=(KEY,), hosts=("testserver", "localhost")))


@pytest.fixture(scope="module")
def schema(app):
    return schemathesis.openapi.from_asgi("/openapi.json", app, headers=HEADERS)


@pytest.mark.outer
@covers("security.http-surface", "endpoint.bad-input")
@pytest.mark.parametrize("mode", ["positive", "negative"])
def test_nothing_that_is_sent_is_a_server_error(app, schema, mode):
    """Every operation of the document; what it refuses, it refuses in our words."""
    wanted = (
        schemathesis.GenerationMode.POSITIVE if mode == "positive" else schemathesis.GenerationMode.NEGATIVE
    )
    tried = 0
    for found in schema.get_all_operations():
        operation = found.ok()
        if operation.path in ENDLESS:
            continue

        @given(case=operation.as_strategy(generation_mode=wanted))
        @settings(
            max_examples=200 if MANY else 12,
            deadline=None,
            database=None,
            derandomize=True,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        def attempt(case):
            nonlocal tried
            tried += 1
            answer = case.call(headers=HEADERS)
            assert answer.status_code < 500, (case.method, case.path, answer.text)
            case.validate_response(answer, checks=[status_code_conformance, response_schema_conformance])
            if answer.status_code == 400:
                assert answer.json()["error"]
                assert answer.json()["code"] in {"INVALID_INPUT", "INVALID_SYNTAX", "CROSS_TREE"}

        try:
            attempt()
        except Exception as error:
            if type(error).__name__ not in {"Unsatisfiable", "SkipTest"}:
                raise
    assert tried > 60


TEXTS = st.text(st.characters(codec=None, exclude_categories=()), max_size=5)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.integers()
    | st.sampled_from([10**350, -(10**25)])
    | TEXTS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    *(
                        "kala",
                        "kind",
                        "model",
                        "components",
                        "children",
                        "filters",
                        "name",
                        "options",
                        "value",
                    ),
                    *(
                        "sessionId",
                        "end",
                        "windowSeconds",
                        "records",
                        "groups",
                        "items",
                        "id",
                        "content",
                        "title",
                    ),
                ]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)


@covers("security.http-surface")
@given(
    body=JSON,
    path=st.sampled_from(
        [
            "/context/topicContextYoj/run",
            "/jobs/context/collapse/indexer/run",
            "/api/records",
            "/api/trees",
            "/context/collapse/state/set",
            "/context/collapse/indexer/remove",
        ]
    ),
)
def test_any_json_is_taken_or_refused_in_words(app, body, path):
    if isinstance(body, dict) and isinstance(body.get("kala"), dict):
        body["kala"].setdefault("kind", "SegKala")
    client = TestClient(app, base_url="http://localhost")
    import json

    answer = client.post(path, content=json.dumps(body).encode(), headers=HEADERS)
    assert answer.status_code < 500, answer.text
    if answer.status_code >= 400:
        assert answer.json()["error"]
