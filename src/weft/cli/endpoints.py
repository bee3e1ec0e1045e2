"""Endpoints with their keys: endpoints."""

import contextlib
import getpass
import sys
from typing import Annotated

from weft.cli.arguments import argument, flag
from weft.cli.output import Column
from weft.cli.session import CliSession
from weft.cli.text_input import is_interactive
from weft.errors import NotFoundError, StorageError

_KEY_LIMIT = 10_000
_Name = Annotated[str, argument("NAME", "A short name: lab.")]


def endpoints_ls(session: CliSession) -> None:
    """OpenAI-compatible servers by name; compatible:NAME/MODEL is a model of one. Alone: list them.

    In a pipe: name, address and where its key is, separated by tabs.
    """
    from weft.providers.compatible import Compatible  # noqa: PLC0415 - loads with the providers
    from weft.providers.keys import Keys, host_of  # noqa: PLC0415 - as above
    from weft.providers.saved_endpoints import SavedEndpoints  # noqa: PLC0415 - as above

    keys, known = Keys(), sorted(Compatible().endpoints().items())
    try:
        SavedEndpoints().all()
    except StorageError as error:
        session.out.message(f"those that were added are left out: {error.message}")

    def key_of(entry: tuple[str, object]) -> str | None:
        name = entry[0]
        found = keys.place(name, host_of(dict(known)[name].url))
        return None if found is None else found.where

    session.out.listing(
        known,
        Column("name", lambda each: each[0]),
        Column("address", lambda each: each[1].url, shrinks=True),
        Column("key", key_of),
        wire=lambda each: {
            "name": each[0],
            "url": each[1].url,
            "private": each[1].private,
            "key": key_of(each),
        },
    )


def endpoints_add(
    session: CliSession,
    name: _Name,
    url: Annotated[str, argument("URL", "Its base address: https://lab.example/v1.")],
    *,
    private: Annotated[
        bool, flag("--private", "It is on your own network: private addresses and http are allowed.")
    ] = False,
    keyless: Annotated[bool, flag("--no-key", "It needs no key; none is read.")] = False,
) -> None:
    """Keep the address of an OpenAI-compatible server together with its key.

    The key is read from a prompt or from stdin, never from an argument; empty: none. It goes to this
    host only: if the address changes, the key of the new host is read again.
    """
    from weft.providers.keys import Keys  # noqa: PLC0415 - loads with the providers
    from weft.providers.saved_endpoints import SavedEndpoint, SavedEndpoints  # noqa: PLC0415 - as above

    saved = SavedEndpoints()
    before = saved.all().get(name)
    # The address is checked before a key is asked for.
    host = SavedEndpoint(name=name, url=url.strip(), private=private).host
    key = "" if keyless else _typed_key(name, host)
    added = saved.add(name, url, private=private)
    stored = Keys().set(name, key, host) if key else None
    verb = "added" if before is None else "replaced"
    place = "without a key" if stored is None else f"its key is in {stored.where}, for {host} only"
    session.out.result(
        {"name": name, "url": added.url, "private": private, "host": host, "key": stored},
        None,
        f"{verb} {name}: {added.url}; {place}",
    )
    session.out.message(f"ask one of its models: weft ask --model compatible:{name}/MODEL")


def _typed_key(name: str, host: str) -> str:
    if is_interactive():
        return getpass.getpass(f"Key for {name} ({host}), empty for none: ", stream=sys.stderr).strip()
    return "" if sys.stdin is None else sys.stdin.read(_KEY_LIMIT).strip()


def endpoints_remove(session: CliSession, name: _Name) -> None:
    """Remove an endpoint that was added, and the stored key for its host."""
    from weft.providers.keys import Keys  # noqa: PLC0415 - loads with the providers
    from weft.providers.saved_endpoints import SavedEndpoints  # noqa: PLC0415 - as above

    removed = SavedEndpoints().remove(name)
    with contextlib.suppress(NotFoundError):
        Keys().delete(name, removed.host)
    session.out.result(
        {"name": name, "url": removed.url, "removed": True}, None, f"removed {name}: {removed.url}"
    )
