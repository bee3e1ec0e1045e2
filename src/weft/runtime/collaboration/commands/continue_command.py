"""`→ continue`: another agent goes on from a node: never the agent itself, or one that invoked it."""

from weft.commands import actions as v
from weft.commands import reply
from weft.errors import NotFoundError, PermissionDeniedError
from weft.providers.base import ModelName
from weft.runtime.collaboration.commands.context import CommandContext, CommandOutcome
from weft.runtime.contexts.linked_documents import names_hint
from weft.runtime.generation.agent_choice import model_agent
from weft.runtime.generation.options import GenerationOptions
from weft.runtime.generation.start_point import StartPlace
from weft.tree.agent import Agent, AgentType

_NO_AGENT = "ask the human to add one, or to generate"


def run_continue(context: CommandContext, action: v.ContinueCommand) -> CommandOutcome:
    """Wait for the continuations; what had come of one that failed is kept as interrupted."""
    start = context.row(action.start)
    subject = _subject(context, action.agent)
    options = GenerationOptions(
        n=action.n,
        agents=(subject.id,),
        temperature=action.temperature,
        max_tokens=action.tokens,
        stop=action.stop or None,
        unattended=context.session.unattended,
    )
    session = context.session
    place = StartPlace(tree=context.tree, node=start.ulid, chain=session.chain, moves=False, as_subjects=True)
    with session.generations.stream(place.tree, place.node, options, place) as stream:
        session.stream = stream
        if session.is_stopped:
            stream.stop()
        try:
            for event in stream:
                if session.heard is not None:
                    session.heard(event)
            made = stream.result()
        finally:
            session.stream = None
    names = [node.local_id for node in made]
    lines = [reply.continued(start.local_id, names, subject.name)]
    lines += [
        f"  {line}" for each in made.failures for line in reply.failed(session.in_words(each)).split("\n")
    ]
    count = f"{len(names)} {'result' if len(names) == 1 else 'results'}"
    return CommandOutcome(text="\n".join(lines), detail=count, nodes=tuple(names))


def _subject(context: CommandContext, named: str | None) -> Agent:
    if named is None:
        return _anybody(context)
    try:
        with context.see.store.read() as session:
            found, _ = model_agent(session, named)
    except NotFoundError as error:
        names = [agent.name for agent in _others(context)]
        raise NotFoundError(error.message, hint=names_hint(names, _NO_AGENT)) from None
    if found.id in context.session.chain:
        raise not_itself(found.name, is_self=found.id == context.session.agent.id)
    return found


def not_itself(name: str, *, is_self: bool) -> PermissionDeniedError:
    why = "you cannot invoke yourself" if is_self else f"{name!r} led here and cannot be invoked again"
    return PermissionDeniedError(why, hint='name another: → continue using agent:"…"')


def _others(context: CommandContext) -> list[Agent]:
    """Who may be asked, the last to come first."""
    usable = set(context.session.generations.registry.names)
    return [
        agent
        for agent in context.read.agents()[::-1]
        if agent.type is AgentType.MODEL
        and agent.id not in context.session.chain
        and ModelName.parse(agent.model_ref or "").provider in usable
    ]


def _anybody(context: CommandContext) -> Agent:
    """The grove's default, else the model agent that came last, of those who may be asked: subjects first."""
    chosen = context.session.generations.default_agent
    others = _others(context)
    if not others:
        raise NotFoundError("there is no other agent to continue", hint=_NO_AGENT)
    subjects = [agent for agent in others if not agent.loom_aware] or others
    return next((agent for agent in subjects if agent.id == chosen), subjects[0])
