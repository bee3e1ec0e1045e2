"""Generate with models: gen, chat, summarise, spend."""

import contextlib
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Annotated, Any

import typer

from weft.cli.answer_display import approver_of, show_answer
from weft.cli.arguments import ContextNodes, InstructionNodes, argument, flag, option
from weft.cli.knowledge import ToolCalls, tool_outputs
from weft.cli.output import Column, progress_bar, quoted
from weft.cli.session import CliSession
from weft.cli.terminal import (
    Terminal,
    failure_to_wire,
    plant_for,
    show_nodes,
    show_stream,
    starting_place,
)
from weft.cli.text_input import STDIN, text_given
from weft.cli.typed_turns import TypedTurn
from weft.errors import InvalidInputError, NotFoundError, WeftError
from weft.ids import normalise_reference, typable
from weft.runtime.generation.options import GenerationOptions
from weft.runtime.runners.options import AskOptions, Runner
from weft.tree.node import Status, counted
from weft.tree.tree import Mode

if TYPE_CHECKING:
    from weft.grove.node import NodeHandle
    from weft.grove.tree import TreeHandle
    from weft.runtime.generation.plan import Preflight
    from weft.runtime.generation.service import Stream

_INTERRUPTED = 130
_CHAT_HELP = """\
Type and press Enter. A line that ends with \\ continues; \"\"\" begins and ends several lines.
/next /previous   show another answer to the same question
/again [N]        generate another answer, or N of them
/agent NAME       choose the agent that answers
/runner NAME      choose how turns are run: chat, vault, tools, agent or project
/resume           let an interrupted agent go on
/undo             undo the last step
/where            show the current node
/quit             end (or Ctrl-D); Ctrl-C stops an answer and keeps what came"""


def gen(
    session: CliSession,
    words: Annotated[
        list[str] | None, argument("TEXT", "What to say first; - reads stdin. Default: only generate.")
    ] = None,
    *,
    start: Annotated[
        str | None,
        option(
            "--from -f NODE",
            "Where to continue: a7x2, TREE/a7x2, a ULID, or a tree. Default: the current node.",
        ),
    ] = None,
    n: Annotated[int, option("--number -n N", GenerationOptions, name="n")] = 1,
    agent: Annotated[
        list[str] | None,
        option("--agent -a AGENT", "The agent; repeat it to compare several. Default: the default agent."),
    ] = None,
    beside: ContextNodes = None,
    instruction: InstructionNodes = None,
    temperature: Annotated[float | None, option("--temperature", GenerationOptions)] = None,
    max_tokens: Annotated[int | None, option("--max-tokens TOKENS", GenerationOptions)] = None,
    stop: Annotated[list[str] | None, option("--stop TEXT", GenerationOptions)] = None,
    seed: Annotated[int | None, option("--seed", GenerationOptions)] = None,
    limit: Annotated[int | None, option("--limit TOKENS", GenerationOptions)] = None,
    key: Annotated[str | None, option("--key TEXT", GenerationOptions, name="idempotency_key")] = None,
    max_price: Annotated[str | None, option("--max-price DOLLARS", GenerationOptions)] = None,
    tool: ToolCalls = None,
    record_payload: Annotated[bool, flag("--record-payload", GenerationOptions)] = False,
    dry_run: Annotated[bool, flag("--dry-run", "Send nothing; show tokens, cached share and price.")] = False,
) -> None:
    """Say a text, if there is one, then generate continuations and stream them.

    Ctrl-C stops and keeps what came. Prints the generated text as it comes; messages on stderr name the
    new nodes.
    """
    if words and (dry_run or key is not None):
        raise InvalidInputError(
            f"{'--dry-run' if dry_run else '--key'} is for generating only: it says no text",
            hint="say the text first with weft say, then weft gen",
        )
    tree, node = _said(session, words, start) if words else session.place(start)
    options = GenerationOptions(
        n=n,
        agents=agent or (),
        context=[session.node(each) for each in beside or ()],
        instructions=[session.node(each) for each in instruction or ()],
        temperature=temperature,
        max_tokens=max_tokens,
        stop=stop or None,
        seed=seed,
        limit=limit,
        tool_outputs=tool_outputs(session, tool, tree, node),
        record_payload=record_payload or None,
        idempotency_key=key,
        max_price=None if max_price is None else _dollars(max_price),
    )
    generations, here = session.grove.generations, None if node is None else node.id
    if dry_run:
        _show_preflight(session, generations.preflight(tree.id, here, options))
        return
    with generations.stream(tree.id, here, options) as stream:
        stopped = show_stream(session, stream, quiet=session.out.as_json)
    _finish(session, stream, quoted(tree.title))
    if stopped:
        raise typer.Exit(_INTERRUPTED)


def _said(session: CliSession, words: list[str], start: str | None) -> "tuple[TreeHandle, NodeHandle]":
    """Say the text where it belongs; a grove without a tree gets one, titled by the text."""
    if start is None and len(words) == 1 and words[0] != STDIN:
        _refuse_node(session, words[0])
    tree, node = starting_place(session, start, switch=False)
    with text_given(words) as text:
        tree = tree or plant_for(session, text)
        made = (tree if node is None else node).say(text)
    session.out.message(f"wrote [{made.local_id}] in {quoted(tree.title)}")
    return tree, made


def _refuse_node(session: CliSession, word: str) -> None:
    """A node's id is not what anybody wants to say: it names where to generate."""
    try:
        if normalise_reference(word) != word.strip("[]").lower():
            return
        node = session.tree.node(word)
    except WeftError:
        return
    raise InvalidInputError(
        f"{word!r} is the node [{node.local_id}]",
        hint=f"to generate from it: weft gen --from {typable(node.local_id)}; to say it: weft say {word}",
    )


def _finish(session: CliSession, stream: "Stream[NodeHandle]", title: str) -> None:
    whole = any(node.value.status is Status.COMPLETE for node in stream.nodes)
    if session.out.as_json and (stream.nodes or not stream.failures):
        session.out.json(
            {
                "nodes": [node.value for node in stream.nodes],
                "failures": [failure_to_wire(error) for error in stream.failures],
                "notices": stream.notices,
            }
        )
    if stream.nodes:
        show_nodes(session, stream, title)
    if stream.failures and not whole:
        raise stream.failures[0]


def chat(
    session: CliSession,
    reference: Annotated[
        str | None, argument("NODE", "Where to continue; a tree means its current node.")
    ] = None,
    *,
    new: Annotated[bool, flag("--new -n", "Start a new tree, titled by your first words.")] = False,
    agent: Annotated[str | None, option("--agent -a AGENT", "The agent that answers.")] = None,
    runner: Annotated[str | None, option("--runner -r NAME", AskOptions)] = None,
    vault: Annotated[list[str] | None, option("--vault NAME", AskOptions, name="vaults")] = None,
    use: Annotated[list[str] | None, option("--use TOOL", AskOptions, name="tool_names")] = None,
) -> None:
    """Chat with a model; every turn is saved. Creates a tree if the grove has none.

    A runner looks things up first, or lets the model call tools; before a tool with effects runs, you
    are asked. In a pipe every line is a turn, and such tools are refused. /help lists further commands.
    """
    options = AskOptions(runner=runner, vaults=vault or (), tool_names=use or None)
    if new and reference is not None:
        raise InvalidInputError("--new starts a new tree: leave NODE out")
    tree, _ = (None, None) if new else starting_place(session, reference)
    if tree is not None and tree.mode is Mode.BUFFER:
        raise InvalidInputError(
            f"{quoted(tree.title)} is a buffer, not a conversation", hint="use weft type and weft gen"
        )
    _Chat(session, tree, agent, options).run()


class _Chat(Terminal):
    """A person and a model in one tree; its turns are run by a runner."""

    def __init__(
        self, session: CliSession, tree: "TreeHandle | None", agent: str | None, options: AskOptions
    ) -> None:
        super().__init__(session, tree, agent)
        self._options = options

    def _take(self, turn: TypedTurn) -> None:
        word, _, rest = turn.text.strip().partition(" ")
        rest = rest.strip()
        if self._take_common(word):
            return
        match word:
            case "/help":
                self._session.out.message(_CHAT_HELP)
            case "/agent":
                self._choose_agent(rest, "answers")
            case "/next" | "/previous":
                self._show(self._current_tree().switch(word.removeprefix("/")))
            case "/again":
                self._answer_again(rest)
            case "/runner":
                self._options = replace(self._options, runner=rest or None)
                self._session.out.message(f"turns are run by {self._options.chosen_runner}")
            case "/resume":
                self._ask(self._current_tree(), resume=True, runner="agent")
            case _:
                text = self._text_of(turn.text)
                self._ask(self._tree_for(text), text=text)

    def _ask(self, tree: "TreeHandle", **more: Any) -> None:
        from weft.grove.answer import start_answer  # noqa: PLC0415 - loads with the grove

        session = self._session
        options = replace(self._options, agent=self._agent, **more)
        with start_answer(session.grove, tree.id, options, approver_of(session)) as stream:
            show_answer(session, stream)

    def _answer_again(self, count: str) -> None:
        if count and not count.isdecimal():
            raise InvalidInputError(f"{count!r} is not a number", hint="for example /again 3")
        at = self._current_tree().cursor
        question = at.tail(2).nodes[0] if at.role.value == "assistant" and at.depth else at.value
        if count or self._options.chosen_runner is Runner.CHAT:
            self._answer(self._current_tree().node(question.id), int(count or 1))
        else:
            self._ask(self._current_tree(), node=question.id)

    def _answer(self, node: "NodeHandle", n: int) -> None:
        with node.stream(n=n, agent=self._agent) as stream:
            show_stream(self._session, stream)
        if stream.nodes:
            show_nodes(self._session, stream, quoted(self._current_tree().title))
        elif stream.failures:
            raise stream.failures[0]


def _show_preflight(session: CliSession, preflight: "Preflight") -> None:
    if session.out.as_json:
        session.out.json(
            {
                "agents": preflight.agents,
                "tokens": preflight.tokens,
                "cachedShare": preflight.cached_share,
                "dollars": preflight.dollars,
            }
        )
        return
    session.out.table(
        preflight.agents,
        Column("agent", lambda each: each.agent),
        Column("model", lambda each: each.model),
        Column("requests", lambda each: f"{each.requests:,}", number=True),
        Column("tokens each", lambda each: f"{each.tokens:,}", number=True),
        Column("cached", lambda each: None if each.cached is None else f"{each.cached:,}", number=True),
        Column("at most", lambda each: _price(each.dollars), number=True),
    )
    price = _price(preflight.dollars)
    price = price if price in {"free", "price unknown"} else f"at most {price}"
    session.out.message(f"{preflight.tokens:,} tokens, {price} (dry run: nothing was sent)")


def _price(dollars: Decimal | None) -> str:
    if dollars is None:
        return "price unknown"
    return "free" if not dollars else f"${dollars:.4f}"


def _dollars(text: str) -> Decimal:
    with contextlib.suppress(InvalidOperation):
        amount = Decimal(text.removeprefix("$"))
        if amount.is_finite() and amount >= 0:
            return amount
    raise InvalidInputError(f"{text!r} is not an amount of dollars", hint="for example 0.50")


def spend(session: CliSession) -> None:
    """What models have cost, and the caps. Alone: show both."""
    from weft.store.model_calls import MICROS  # noqa: PLC0415 - loads with the grove

    generations = session.grove.generations
    spent, caps = generations.spent(), generations.caps
    if session.out.as_json:
        session.out.json(
            {
                "total": Decimal(spent.total) / MICROS,
                "today": Decimal(spent.today) / MICROS,
                "caps": [{"whose": cap.whose, "period": cap.period, "dollars": cap.dollars} for cap in caps],
            }
        )
        return
    session.out.text(
        f"${Decimal(spent.total) / MICROS:.4f} in total, ${Decimal(spent.today) / MICROS:.4f} today (UTC)"
    )
    if caps:
        session.out.table(
            caps,
            Column("cap on", lambda cap: _whose(session, cap.whose)),
            Column("in", lambda cap: cap.period.value),
            Column("dollars", lambda cap: f"{cap.dollars:f}", number=True),
        )


def _whose(session: CliSession, name: str) -> str:
    kind, _, ulid = name.partition(":")
    try:
        if kind == "tree":
            return f"tree {quoted(session.grove.tree(ulid).title)}"
        return f"agent {session.grove.read.agent(ulid).name}" if kind == "agent" else "the grove"
    except NotFoundError:
        # The cap of something deleted is still shown, by id.
        return name


def spend_cap(
    session: CliSession,
    amount: Annotated[str, argument("DOLLARS", "For example 0.50; none removes the cap.")],
    *,
    a_day: Annotated[bool, flag("--day", "Per day (UTC), not in total.")] = False,
    agent: Annotated[str | None, option("--agent AGENT", "The cap of this agent.")] = None,
    of_tree: Annotated[str | None, option("--in TREE", "The cap of this tree.")] = None,
) -> None:
    """Cap the spending of the grove, a tree or an agent."""
    from weft.runtime.generation.spending import SpendingPeriod  # noqa: PLC0415 - loads with the grove

    if agent is not None and of_tree is not None:
        raise InvalidInputError("--agent and --in exclude each other", hint="set one cap for each")
    whose = "grove"
    if agent is not None:
        whose = f"agent:{session.grove.read.agent(agent).id}"
    elif of_tree is not None:
        whose = f"tree:{session.grove.tree(of_tree).id}"
    dollars = None if amount == "none" else _dollars(amount)
    period = SpendingPeriod.DAY if a_day else SpendingPeriod.TOTAL
    session.grove.generations.set_cap(dollars, whose=whose, period=period)
    often = " per day" if a_day else ""
    message = "no cap" if dollars is None else f"at most ${dollars:f}{often}"
    session.out.result(
        {"whose": whose, "period": period, "dollars": dollars}, None, f"{_whose(session, whose)}: {message}"
    )


def summarise(
    session: CliSession,
    reference: Annotated[
        str | None, argument("TARGET", "A node, tree:TITLE or doc:TITLE. Default: the current tree.")
    ] = None,
    *,
    refresh: Annotated[bool, flag("--refresh", "Replace an existing summary.")] = False,
    pending: Annotated[bool, flag("--pending", "Run the waiting background summaries now.")] = False,
    model: Annotated[
        str | None,
        option(
            "--model PROVIDER:MODEL",
            "Set the model for summaries; none: extracts only, auto: the usual order.",
        ),
    ] = None,
) -> None:
    """Print a summary; without one, create it with a small model, else as an extract."""
    from weft.grove.tree import TreeHandle  # noqa: PLC0415 - loads with the grove
    from weft.providers.keys import Keys  # noqa: PLC0415 - loads with the providers

    summaries = session.grove.summaries
    if model is not None:
        summaries.choose_model(None if model == "auto" else model)
        session.out.message(f"summaries: {summaries.model or 'the first model of the usual order'}")
    if pending:
        done = summaries.work_off()
        session.out.result({"jobs": done}, str(done), f"ran {counted(done, 'job')}")
        return
    if model is not None and reference is None:
        return
    target = session.tree if reference is None else session.target(reference)
    if summaries.model != "none" and (problem := Keys().problem) is not None:
        session.out.message(f"models with keys in the file are left out: {problem}")
    if isinstance(target, TreeHandle):
        with progress_bar("summarising") as progress:
            summary = summaries.tree(target.id, refresh=refresh, progress=progress)
    else:
        summary = target.summarise(refresh=refresh)
    if session.out.as_json:
        session.out.json({"id": target.id, "summary": summary})
    else:
        session.out.text(summary)
