"""Import over HTTP: a job of the server, its progress, and its report."""

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.covers import covers
from tests.server.conftest import KEY, Asker
from tests.server.served import Served

import weft
from weft.runtime.transfer.import_jobs import upload_folder
from weft.server import ServerSettings, create_app
from weft.store.imports import IMPORT_JOB

FILES = Path(__file__).parent.parent / "data" / "imports"
ENDED = {"complete", "stopped", "failed"}
SECRET = "sk-proj-" + "Zx9Qw3" * 6


@pytest.fixture
def server(fresh_loom: weft.Grove):
    settings = ServerSettings(keys=(KEY,), body_limit=1_000, upload_limit=2_000_000)
    with TestClient(create_app(fresh_loom, settings), base_url="http://127.0.0.1:7370") as client:
        yield Asker(client, KEY)


def ended(server: Asker, started: Any) -> dict[str, Any]:
    """The report, once it is over: read again and again, as a page without the stream would."""
    assert started.status_code == 202, started.text
    address = started.headers["location"]
    while (report := server.get(address).json())["status"] not in ENDED:
        pass
    return report


def conversation(name: str, *texts: str, **more: Any) -> dict[str, Any]:
    mapping = {
        f"{name}{at}": {
            "parent": f"{name}{at - 1}" if at else None,
            "message": {
                "author": {"role": "assistant" if at % 2 else "user"},
                "content": {"content_type": "text", "parts": [text]},
                "create_time": 1_700_000_000 + at,
            },
        }
        for at, text in enumerate(texts)
    }
    return {"id": name, "title": f"Talk {name}", "mapping": mapping, "default_model_slug": "gpt-x", **more}


def cyclic(name: str) -> dict[str, Any]:
    made = conversation(name, "a", "b")
    made["mapping"][f"{name}0"]["parent"] = f"{name}1"
    return made


@covers("import.http-job", "import.http-report")
def test_an_uploaded_export_is_imported_in_the_background_and_its_report_stays(server, fresh_loom):
    content = [
        conversation("one", "Hello", "Hi", "My key is " + SECRET),
        cyclic("two"),
        conversation("three", "Only", ""),
    ]
    body = json.dumps(content, indent=1)
    started = server("POST", "/api/imports?name=export.json", content=body)
    assert started.json()["status"] in {"waiting", "reading", "writing", "complete"}
    report = ended(server, started)
    assert (report["status"], report["done"], report["total"]) == ("complete", 3, 3)
    assert (report["imported"], report["refused"], report["newTrees"], report["newNodes"]) == (2, 1, 2, 4)
    (refused,) = report["refusedConversations"]
    line = body[: body.index('"id": "two"')].count("\n")
    assert refused == {
        "file": "export.json",
        "number": 2,
        "line": line,
        "title": "Talk two",
        "place": "[1]",
        "error": "its messages are their own ancestors: two0, two1",
    }
    (key,) = report["keys"]
    assert (key["title"], key["message"], key["kind"]) == ("Talk one", 3, "OpenAI")
    node = fresh_loom.tree(key["tree"]).node(key["node"])
    assert node.text == "My key is [API key removed]"
    assert {each["what"]: each["count"] for each in report["lost"]} == {"empty messages": 1}
    assert {each["what"]: each["count"] for each in report["kept"]} == {"messages": 4, "titles": 2}
    assert [each["title"] for each in report["largest"]] == ["Talk one", "Talk three"]
    assert server.get("/api/imports").json()["imports"][0]["id"] == report["id"]
    page = server.get(f"/api/imports/{report['id']}/conversations?first=1&limit=1").json()
    assert [each["error"] for each in page["conversations"]] == [refused["error"]]
    assert SECRET not in json.dumps([report, page, server.get("/api/imports").json()])
    assert list(upload_folder(fresh_loom.caller.store).iterdir()) == []
    assert fresh_loom.verify().verdict == "valid"


@covers("import.http-job", "import.again-adds-only-new")
def test_the_same_file_a_second_time_changes_nothing_and_says_so(server):
    first = ended(server, server("POST", "/api/imports", content=json.dumps(conversation("one", "Hello"))))
    more = json.dumps([conversation("one", "Hello", "Hi"), conversation("two", "New")])
    second = ended(server, server("POST", "/api/imports", content=more))
    third = ended(server, server("POST", "/api/imports", content=more))
    states = [
        (each["newTrees"], each["changedTrees"], each["unchangedTrees"]) for each in (first, second, third)
    ]
    assert states == [(1, 0, 0), (1, 1, 0), (0, 0, 2)]


@covers("import.http-job")
def test_a_form_with_a_zip_is_imported_under_the_files_own_name(server):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("conversations-000.json", json.dumps([conversation("one", "Hello")]))
        archive.writestr("user.json", json.dumps({"id": "u", "email": "a@example.org"}))
        archive.writestr("shared_conversations.json", "[]")
    files = {"file": ("export.zip", packed.getvalue(), "application/zip")}
    report = ended(server, server("POST", "/api/imports", files=files))
    assert (report["name"], report["imported"], report["formats"]) == ("export.zip", 1, ["chatgpt"])
    assert (report["labels"], report["files"], report["media"]) == (["ChatGPT export"], 1, 0)
    assert server("POST", "/api/imports", files={"a": b"x", "b": b"y"}).status_code == 400


@covers("import.http-job")
def test_a_dry_run_writes_no_tree(server, fresh_loom):
    body = json.dumps([conversation("one", "Hello")])
    report = ended(server, server("POST", "/api/imports?dryRun=true", content=body))
    assert (report["status"], report["dryRun"], report["newNodes"]) == ("complete", True, 1)
    assert fresh_loom.trees() == []


@covers("import.http-job", "formats.unreadable-container")
def test_an_unreadable_file_imports_nothing_and_the_report_says_where(server, fresh_loom):
    body = json.dumps([conversation("one", "Hello"), conversation("two", "There")])[:-30]
    report = ended(server, server("POST", "/api/imports?name=cut.json", content=body))
    assert report["status"] == "failed"
    assert report["error"].startswith("cut.json ends in the middle of its list, after 1 entries")
    strict = json.dumps([conversation("one", "Hello"), cyclic("two")])
    report = ended(server, server("POST", "/api/imports?strict=true", content=strict))
    assert (report["status"], report["error"]) == (
        "failed",
        "upload [1]: its messages are their own ancestors: two0, two1",
    )
    assert fresh_loom.trees() == []


@covers("import.http-job")
def test_a_weft_export_is_imported_whole(server, fresh_loom, tmp_path):
    tree = fresh_loom.plant("Marie", "Hello")
    fresh_loom.export(tmp_path / "marie.json", [tree.id])
    tree.delete(confirm=tree.id)
    report = ended(server, server("POST", "/api/imports", content=(tmp_path / "marie.json").read_bytes()))
    assert (report["status"], report["formats"]) == ("complete", ["weft"]), report
    assert [each.title for each in fresh_loom.trees()] == ["Marie"]


@covers("import.http-limits")
def test_a_file_over_the_limit_is_refused_before_it_is_read(server, fresh_loom):
    large = {"Content-Length": str(10**12)}
    assert server("POST", "/api/imports", content=b"{}", headers=large).status_code == 413
    read: list[int] = []

    def pieces():
        for _ in range(100):
            read.append(1)
            yield b" " * 100_000

    assert server("POST", "/api/imports", content=pieces()).status_code == 413
    assert server("POST", "/api/imports", content=b"").json()["error"] == "the file is empty"
    assert server("POST", "/api/imports?dryrun=true", content=b"{}").status_code == 400
    # Other routes keep their own limit.
    assert server("POST", "/api/trees", content=b" " * 2_000).status_code == 413
    folder = upload_folder(fresh_loom.caller.store)
    assert not folder.exists() or list(folder.iterdir()) == []
    assert server.get("/api/imports").json() == {"imports": []}


@covers("import.http-stop")
def test_a_stopped_import_keeps_what_was_written_and_can_be_done_again(server, fresh_loom):
    content = json.dumps([conversation(f"c{at}", "Hello", "Hi") for at in range(60)])
    started = server("POST", "/api/imports", content=content)
    stopped = server.post(f"{started.headers['location']}/stop")
    assert stopped.status_code == 200
    report = ended(server, started)
    assert report["status"] in {"stopped", "complete"}
    assert len(fresh_loom.trees()) == report["imported"] == report["done"]
    again = ended(server, server("POST", "/api/imports", content=content))
    assert (again["imported"], again["newTrees"]) == (60, 60 - report["imported"])


@covers("import.http-job")
def test_only_its_user_and_owners_see_an_import(server, fresh_loom):
    users = fresh_loom.users
    for name, role in (("ada", "editor"), ("bob", "editor"), ("rita", "reader")):
        users.add(name, role=role)
    ada, bob, rita = (Asker(server.client, users.issue(name)[0]) for name in ("ada", "bob", "rita"))
    report = ended(ada, ada("POST", "/api/imports", content=json.dumps(conversation("one", "Hello"))))
    path = f"/api/imports/{report['id']}"
    assert [each.get(path).status_code for each in (ada, bob, server)] == [200, 404, 200]
    assert bob.post(f"{path}/stop").status_code == 404
    assert bob.get("/api/imports").json() == {"imports": []}
    assert rita("POST", "/api/imports", content=b"{}").status_code == 403


@pytest.mark.outer
@covers("import.http-job")
def test_a_killed_server_goes_on_with_the_import_when_it_starts_again(tmp_path):
    grove = str(tmp_path / "g.db")
    content = json.dumps([conversation(f"c{at}", "Hello", "Hi") for at in range(300)]).encode()
    served = Served(grove)
    connection = served.connect()
    headers = {"Authorization": f"Bearer {served.address['token']}"}
    connection.request("POST", "/api/imports", content, headers)
    name = json.loads(connection.getresponse().read())["id"]
    served.process.kill()
    served.process.communicate()
    with weft.open(grove, background=False) as loom:
        loom.caller.store.write(_release)
    again = Served(grove)
    try:
        connection = again.connect()
        headers = {"Authorization": f"Bearer {again.address['token']}"}
        report = {"status": ""}
        while report["status"] not in ENDED:
            connection.request("GET", f"/api/imports/{name}", headers=headers)
            report = json.loads(connection.getresponse().read())
        assert (report["status"], report["imported"], report["done"]) == ("complete", 300, 300)
        _, page = again.ask("GET", f"/api/imports/{name}/conversations?limit=1000")
        assert len(page["conversations"]) == len({each["source"] for each in page["conversations"]}) == 300
    finally:
        again.stop()
        for each in (*served.connections, *again.connections):
            each.close()
    with weft.open(grove) as loom:
        assert len(loom.trees()) == 300
        assert loom.verify().verdict == "valid"


def _release(transaction) -> None:
    """What the holder's silence does after a minute."""
    from weft.store import schema

    jobs = schema.jobs
    transaction.execute(jobs.update().where(jobs.c.kind == IMPORT_JOB).values(held_until=0))
