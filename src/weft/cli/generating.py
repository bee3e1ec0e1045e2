"""Asking models: gen, chat, summarise, spend."""

from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Annotated

import typer

from weft.cli.call import Call
from weft.cli.command import command, flag, group
from weft.cli.completing import complete_agents, complete_nodes, complete_trees
from weft.cli.output import Column
from weft.cli.progress import progress_bar
from weft.cli.sources import ContextNodes, InstructionNodes
from weft.cli.speaking import failure_to_wire, show_stream, tell_nodes
from weft.cli.tools import ToolCalls, tool_outputs
from weft.cli.wording import quoted
from weft.errors import InvalidInputError, NotFoundError, WeftError
from weft.tree.node import Status

if TYPE_CHECKING:
    from weft.grove.generations import Stream
    from weft.runtime.generation.options import GenerationKeywords
    from weft.runtime.generation.plan import Preflight

__all__ = ["AgentNames", "add_to"]

_PANEL = "Models"
_INTERRUPTED = 130

AgentNames = Annotated[
    list[str] | None,
    typer.Option(
        "--agent",
        "-a",
        metavar="AGENT",
        help="Who answers; repeat it to compare several. Else the default one.",
        autocompletion=complete_agents,
    ),
]


def gen(
    call: Call,
    reference: Annotated[
        str | None,
        typer.Argument(
            metavar="NODE",
            help="Where to continue: a7x2, TREE/a7x2, a ULID, or a tree. Else where you stand.",
            autocompletion=complete_nodes,
        ),
    ] = None,
    *,
    n: Annotated[int, typer.Option("--number", "-n", metavar="N", help="How many, by each agent.")] = 1,
    agent: AgentNames = None,
    beside: ContextNodes = None,
    instruction: InstructionNodes = None,
    temperature: Annotated[float | None, typer.Option("--temperature")] = None,
    max_tokens: Annotated[
        int | None, typer.Option("--max-tokens", metavar="TOKENS", help="How long an answer may be.")
    ] = None,
    stop: Annotated[list[str] | None, typer.Option("--stop", metavar="TEXT")] = None,
    seed: Annotated[int | None, typer.Option("--seed")] = None,
    limit: Annotated[
        int | None,
        typer.Option("--limit", metavar="TOKENS", help="The budget; else what the model's window leaves."),
    ] = None,
    key: Annotated[
        str | None,
        typer.Option("--key", metavar="TEXT", help="The same key twice asks once, and answers twice."),
    ] = None,
    max_price: Annotated[
        str | None, typer.Option("--max-price", metavar="DOLLARS", help="Ask nothing that may cost more.")
    ] = None,
    tool: ToolCalls = None,
    dry_run: Annotated[
        bool, flag("--dry-run", help="Only say what it would mean: tokens, cached share, price.")
    ] = False,
) -> None:
    """Have a model continue, and watch it write. Ctrl-C stops; what came is kept.

    Prints the words as they come; which nodes they are is said on stderr.
    """
    tree, node = call.place(reference)
    wishes: GenerationKeywords = {
        "n": n,
        "agents": agent or (),
        "context": [call.node(each) for each in beside or ()],
        "instructions": [call.node(each) for each in instruction or ()],
        "temperature": temperature,
        "max_tokens": max_tokens,
        "seed": seed,
        "limit": limit,
        "tool_outputs": tool_outputs(call, tool, tree, node),
        "idempotency_key": key,
        "max_price": None if max_price is None else _dollars(max_price),
    }
    if stop:
        wishes["stop"] = stop
    if dry_run:
        _tell_preflight(call, (node or tree.cursor).preflight(**wishes))
        return
    with (tree if node is None else node).stream(**wishes) as stream:
        stopped = show_stream(call, stream, quiet=call.out.as_json)
    _finish(call, stream, quoted(tree.title))
    if stopped:
        raise typer.Exit(_INTERRUPTED)


def _finish(call: Call, stream: "Stream", title: str) -> None:
    whole = any(node.value.status is Status.COMPLETE for node in stream.nodes)
    if call.out.as_json and (stream.nodes or not stream.failures):
        call.out.json(
            {
                "nodes": [node.value for node in stream.nodes],
                "failures": [failure_to_wire(error) for error in stream.failures],
            }
        )
    tell_nodes(call, stream, title) if stream.nodes else None
    if stream.failures and not whole:
        raise stream.failures[0]


def _tell_preflight(call: Call, told: "Preflight") -> None:
    if call.out.as_json:
        call.out.json(
            {
                "agents": told.agents,
                "tokens": told.tokens,
                "cachedShare": told.cached_share,
                "dollars": told.dollars,
            }
        )
        return
    columns = [
        Column("agent"),
        Column("model"),
        Column("requests", number=True),
        Column("tokens each", number=True),
        Column("cached", number=True),
        Column("at most", number=True),
    ]
    rows = [
        (
            each.agent,
            each.model,
            f"{each.requests:,}",
            f"{each.tokens:,}",
            "" if each.cached is None else f"{each.cached:,}",
            _price(each.dollars),
        )
        for each in told.agents
    ]
    call.out.table(columns, rows, rows)
    call.out.talk(f"{told.tokens:,} tokens, {_price(told.dollars)} at most; nothing was asked")


def _price(dollars: Decimal | None) -> str:
    if dollars is None:
        return "price unknown"
    return "free" if not dollars else f"${dollars:.4f}"


def _dollars(text: str) -> Decimal:
    try:
        amount = Decimal(text.removeprefix("$"))
    except InvalidOperation:
        raise InvalidInputError(f"{text!r} is no amount of dollars", hint="0.50, for example") from None
    if not amount.is_finite() or amount < 0:
        raise InvalidInputError(f"{text!r} is no amount of dollars", hint="0 or more")
    return amount


def spend(call: Call) -> None:
    """What models have cost, and what they may. Alone: show it."""
    from weft.store.spending import MICROS  # noqa: PLC0415 - the runtime loads when it is used

    generations = call.grove.generations
    spent, caps = generations.spent(), generations.caps
    if call.out.as_json:
        call.out.json(
            {
                "total": Decimal(spent.total) / MICROS,
                "today": Decimal(spent.today) / MICROS,
                "caps": [{"whose": cap.whose, "period": cap.period, "dollars": cap.dollars} for cap in caps],
            }
        )
        return
    call.out.text(
        f"${Decimal(spent.total) / MICROS:.4f} in all, ${Decimal(spent.today) / MICROS:.4f} today (UTC)"
    )
    if caps:
        columns = [Column("cap on"), Column("in"), Column("dollars", number=True)]
        rows = [(_whose(call, cap.whose), cap.period.value, f"{cap.dollars:f}") for cap in caps]
        call.out.table(columns, rows, rows)


def _whose(call: Call, name: str) -> str:
    kind, _, ulid = name.partition(":")
    try:
        if kind == "tree":
            return f"tree {quoted(call.grove.tree(ulid).title)}"
        return f"agent {call.grove.read.agent(ulid).name}" if kind == "agent" else "the grove"
    except NotFoundError:
        # It was deleted, and its cap with nobody left to hold is still shown.
        return name


def cap(
    call: Call,
    amount: Annotated[str, typer.Argument(metavar="DOLLARS", help="0.50, for example; none takes it away.")],
    *,
    a_day: Annotated[bool, flag("--day", help="In a day (UTC), not in all.")] = False,
    agent: Annotated[
        str | None,
        typer.Option("--agent", metavar="AGENT", help="Of this agent.", autocompletion=complete_agents),
    ] = None,
    of_tree: Annotated[
        str | None,
        typer.Option("--in", metavar="TREE", help="In this tree.", autocompletion=complete_trees),
    ] = None,
) -> None:
    """Set how much may be spent: by the grove, in a tree or by an agent."""
    from weft.runtime.generation.spending import Period  # noqa: PLC0415 - the runtime loads when it is used

    if agent is not None and of_tree is not None:
        raise InvalidInputError("a cap is on an agent or on a tree", hint="set one for each")
    whose = "grove"
    if agent is not None:
        whose = f"agent:{call.grove.read.agent(agent).id}"
    elif of_tree is not None:
        whose = f"tree:{call.grove.tree(of_tree).id}"
    dollars = None if amount == "none" else _dollars(amount)
    period = Period.DAY if a_day else Period.TOTAL
    call.grove.generations.set_cap(dollars, whose=whose, period=period)
    often = " a day" if a_day else ""
    told = "no cap any more" if dollars is None else f"at most ${dollars:f}{often}"
    call.out.answer(
        {"whose": whose, "period": period, "dollars": dollars}, None, f"{_whose(call, whose)}: {told}"
    )


def summarise(
    call: Call,
    reference: Annotated[
        str | None,
        typer.Argument(
            metavar="TARGET",
            help="A node, tree:TITLE or doc:TITLE. Else the tree you are in.",
            autocompletion=complete_nodes,
        ),
    ] = None,
    *,
    anew: Annotated[bool, flag("--anew", help="Also if there is a summary already.")] = False,
    pending: Annotated[
        bool, flag("--pending", help="Do now what waits to be summarised in the background.")
    ] = False,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            metavar="PROVIDER:MODEL",
            help="Who summarises from now on; none: nobody, auto: as usual.",
        ),
    ] = None,
) -> None:
    """Show a summary, made now if there is none: by a small model, else an extract.

    Prints the summary.
    """
    from weft.grove.tree import TreeHandle  # noqa: PLC0415 - the runtime loads when it is used

    summaries = call.grove.summaries
    if model is not None:
        summaries.choose_model(None if model == "auto" else model)
        call.out.talk(f"summaries: {summaries.model or 'the first model of the usual order'}")
    if pending:
        done = summaries.work_off()
        call.out.answer({"jobs": done}, str(done), f"{done} jobs tried")
        return
    if model is not None and reference is None:
        return
    target = call.tree if reference is None else call.target(reference)
    if summaries.model != "none" and (problem := _keys_problem()) is not None:
        call.out.talk(f"models whose keys are in the file are left out: {problem}")
    if isinstance(target, TreeHandle):
        with progress_bar("summarising") as progress:
            summary = summaries.tree(target.id, anew=anew, progress=progress)
    else:
        summary = target.summarise(anew=anew)
    if call.out.as_json:
        call.out.json({"id": target.id, "summary": summary})
    else:
        call.out.text(summary)


def _keys_problem() -> WeftError | None:
    from weft.providers.keys import Keys  # noqa: PLC0415 - as it is used

    return Keys().problem


def add_to(app: typer.Typer) -> None:
    from weft.cli.chatting import chat  # noqa: PLC0415 - it stands on this module

    command(app, "gen", gen, panel=_PANEL)
    command(app, "chat", chat, panel=_PANEL, creates=True)
    command(app, "summarise", summarise, panel=_PANEL)
    family = group(app, "spend", spend, panel=_PANEL)
    command(family, "cap", cap)
