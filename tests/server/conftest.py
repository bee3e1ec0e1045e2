"""A real application over a real grove, asked in process."""

from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

import weft
from weft.server import ServerSettings, create_app

KEY = "the-owners-key"
LIMIT = 200_000
SECRET = "kingfisher"
"""A word in everything that is foreign."""


class Asker:
    """Asks with one token."""

    def __init__(self, client: TestClient, token: str | None) -> None:
        self.client = client
        self.headers = {} if token is None else {"Authorization": f"Bearer {token}"}

    def __call__(self, method: str, path: str, **more):
        headers = self.headers | more.pop("headers", {})
        return self.client.request(method, path, headers=headers, follow_redirects=False, **more)

    def get(self, path: str, **more):
        return self("GET", path, **more)

    def post(self, path: str, body=None, **more):
        return self("POST", path, **({"json": body} if body is not None else {}), **more)


@pytest.fixture(scope="module")
def client(loom: weft.Grove) -> Iterator[TestClient]:
    settings = ServerSettings(
        keys=(KEY,),
        entrances=("once",),
        body_limit=LIMIT,
        origins=("https://ours.example",),
        # The matrix asks every route with several wrong tokens.
        failures=100_000,
    )
    with TestClient(create_app(loom, settings), base_url="http://127.0.0.1:7370") as asked:
        yield asked


@pytest.fixture(scope="module")
def tokens(loom: weft.Grove) -> dict[str, str]:
    """One of each kind."""
    users = loom.users
    for name, role in [("ada", "editor"), ("bob", "reader"), ("eve", None), ("robot", "editor")]:
        users.add(name, role=role)
    return {
        **{name: users.issue(name)[0] for name in ("ada", "bob", "eve")},
        "service": users.issue("robot", service=True, label="the service")[0],
    }


@pytest.fixture
def owner(client) -> Asker:
    return Asker(client, KEY)


@pytest.fixture
def ask(client, tokens):
    """Ask as somebody."""
    return lambda name: Asker(client, None if name is None else tokens[name])


@pytest.fixture(scope="module")
def foreign(loom, tokens) -> dict[str, str]:
    """One of everything that a path can name; nothing of it is eve's."""
    tree = loom.plant(f"The {SECRET}", f"A {SECRET} at dawn")
    agent = loom.add_agent(
        f"{SECRET} agent", model_ref="scripted:echo", permissions=["loom_aware", "loom_write"]
    )
    document = loom.write_document(f"{SECRET} paper", f"{SECRET} text")
    project = loom.create_project(f"{SECRET} project")
    user = loom.users.add(f"{SECRET} user", role="editor")
    _, token = loom.users.issue(user.id, label=f"{SECRET} phone")
    return {
        "tree": tree.id,
        "node": tree.root.id,
        "agent": agent.id,
        "document": document.id,
        "project": project.id,
        "user": user.id,
        "token": token.id,
    }
