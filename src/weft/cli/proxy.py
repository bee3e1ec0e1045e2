"""What the context proxy recorded, and the policies of tokens: proxy."""

from typing import TYPE_CHECKING, Annotated

from weft.cli.arguments import argument, option
from weft.cli.output import Column
from weft.cli.session import CliSession
from weft.tree.node import counted

if TYPE_CHECKING:
    from weft.runtime.proxy.sessions import ProxySession

_Session = Annotated[int, argument("SESSION", "A session's number.")]


def proxy_ls(
    session: CliSession,
    *,
    limit: Annotated[int, option("--limit", "How many, at most.", min=1, max=1_000)] = 50,
) -> None:
    """Sessions of other programs, recorded by the proxy of `weft serve`. Alone: list them.

    In a pipe: number, program, title and tree, separated by tabs.
    """
    session.out.listing(
        session.grove.proxy.sessions(limit=limit),
        Column("id", lambda each: each.id),
        Column("program", lambda each: each.client),
        Column("title", lambda each: each.title, shrinks=True),
        Column("tree", lambda each: each.tree_id),
        Column("requests", _requests, piped=False),
        Column("last", lambda each: each.updated_at, piped=False),
        empty="no sessions; point a client at weft serve: see docs/proxy.md",
    )


def _requests(each: "ProxySession") -> str:
    words = [counted(each.requests, "request")]
    words += [counted(each.branches, "branch")] if each.branches else []
    words += [counted(each.compactions, "compaction")] if each.compactions else []
    words += [f"started by {each.call_id} in {each.parent}"] if each.parent is not None else []
    return ", ".join(words)


def proxy_requests(
    session: CliSession,
    number: _Session,
    *,
    limit: Annotated[int, option("--limit", "How many, at most.", min=1, max=1_000)] = 200,
) -> None:
    """List the requests of a session; side requests are marked by their purpose."""
    session.out.listing(
        session.grove.proxy.requests(number, limit=limit),
        Column("id", lambda each: each.id),
        Column("purpose", lambda each: each.purpose),
        Column("linked by", lambda each: each.linked),
        Column("status", lambda each: each.error or each.status, shrinks=True),
        Column("model", lambda each: each.model),
        Column("added ms", lambda each: f"{each.added_ms:.1f}", piped=False),
        Column("changed", lambda each: each.changed),
        Column("reply", lambda each: each.reply),
        empty="no requests",
    )


def proxy_lost(
    session: CliSession,
    tree: Annotated[str, argument("TREE", "A tree that a client's session was recorded in.")],
    *,
    limit: Annotated[int, option("--limit", "How many lost texts to print.", min=0, max=10_000)] = 20,
) -> None:
    """Print what a client's own compactions lost: texts of the replaced nodes that the summary lacks."""
    compactions = session.grove.proxy.compactions(tree)
    if session.out.as_json:
        session.out.json({"compactions": compactions})
        return
    for each in compactions:
        ledger = each.ledger
        session.out.message(
            f"{counted(ledger.nodes, 'node')}, {ledger.characters:,} characters, replaced by a summary of "
            f"{ledger.summary_characters:,}; all of them are kept here"
        )
        for count in ledger.counts:
            session.out.message(f"{count.kind}: {count.before} before, {count.kept} kept, {count.lost} lost")
        session.out.listing(
            ledger.lost[:limit],
            Column("text", lambda lost: lost.text, shrinks=True),
            Column("uses", lambda lost: lost.uses),
            Column("last in", lambda lost: lost.last_in),
            Column("context", lambda lost: lost.context, shrinks=True),
            empty="nothing was lost",
        )
    if not compactions:
        session.out.message("no compactions")


def proxy_policy(
    session: CliSession,
    token: Annotated[str, argument("TOKEN", "A token's id; owner for the server's own.")],
    policy: Annotated[str, argument("POLICY", "record, strict or fit.")],
    *,
    window: Annotated[
        int | None,
        option("--window", "Tokens that fitted requests may have; default: the model's.", min=1_000),
    ] = None,
) -> None:
    """Set what the proxy does with the requests of a token.

    record: forwarded unchanged, recorded afterwards. strict: not forwarded unless recorded. fit: repaired,
    fitted to the window and laid out for the provider's cache.
    """
    after = session.grove.proxy.set_policy(token, policy, window=window)
    session.out.result(after, None, f"{token}: {after.mode}")
