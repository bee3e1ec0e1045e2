"""From the database to records, in an order that depends on nothing but what they say.

Everything is read in one snapshot and given out as it is read: memory holds the ids of
one tree's nodes, and no more than a few hundred rows.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson
from sqlalchemy import Select, Table, and_, func, select

from weft.errors import NotFoundError, StorageError
from weft.interop.weft_json import Record
from weft.runtime.moving.beside import BATCH, Beside, Names
from weft.runtime.moving.envelopes import envelope_record
from weft.runtime.moving.notation import (
    base64_of,
    compact,
    hex_of,
    in_parts,
    item_record,
    time_of,
    unpack,
)
from weft.runtime.operations.node_values import load_content
from weft.runtime.operations.references import KINDS as TARGET_KINDS
from weft.runtime.operations.references import Address, targets_of
from weft.store import schema
from weft.store.blobs import BlobStore
from weft.store.media import media_of_tree
from weft.store.memory import MemoryKind
from weft.store.rows import (
    AGENT_TYPES,
    EDGE_TYPES,
    MODES,
    ROLES,
    SOURCE_ROLES,
    STATUSES,
    Flag,
    permissions_from,
)
from weft.store.session import Session
from weft.store.transaction import GROVE
from weft.tree.attempt import Outcome
from weft.tree.content import content_to_wire
from weft.tree.progress import Progress, silent
from weft.tree.reference import TargetKind

__all__ = ["OUTCOMES", "Export"]

OUTCOMES = tuple(Outcome)
"""Stored as their index."""


@dataclass(slots=True)
class Export:
    """Some trees, or all there is, as records."""

    session: Session
    blobs: BlobStore
    trees: Sequence[int] | None = None
    """Keys; None: the whole grove."""
    progress: Progress = silent
    notes: list[str] = field(default_factory=list[str])
    """What could not be given out, in a person's words."""
    nodes: int = 0
    _agents: dict[int, str] = field(default_factory=dict[int, str])
    _blobs: set[str] = field(default_factory=set[str])
    _missing: int = 0
    _total: int = 0

    @property
    def scope(self) -> str:
        return "grove" if self.trees is None else "trees"

    def records(self) -> Iterator[Record]:
        trees = self._tree_rows()
        self._total = sum(count for _, count in trees)
        self.progress(0, self._total)
        agents = schema.agents
        self._agents = {
            row.key: row.ulid for row in self.session.execute(select(agents.c.key, agents.c.ulid))
        }
        if self.trees is None:
            yield self._grove()
        yield from self._agent_records()
        yield from self._projects()
        if self.trees is None:
            yield from self._events(GROVE)
            yield from self._timestamps(GROVE)
            yield from self._documents()
        for row, _ in trees:
            yield from self._tree(row)
        yield from self._links()
        yield from self._tags()
        if self.trees is None:
            yield from self._kept_records()
        if self._missing:
            self.notes.append(f"{self._missing:,} blobs are missing from the grove and from the file")
        self.progress(self._total, self._total)

    def _rows(self, statement: Select[*tuple[Any, ...]]) -> Iterator[Any]:
        return iter(self.session.execute(statement.execution_options(yield_per=BATCH)))

    def _tree_rows(self) -> list[tuple[Any, int]]:
        trees, nodes = schema.trees, schema.nodes
        statement = select(trees).order_by(trees.c.ulid)
        if self.trees is not None:
            statement = statement.where(self.session.dialect.among(trees.c.key, self.trees))
        counts = select(nodes.c.tree, func.count().label("there")).group_by(nodes.c.tree)
        if self.trees is not None:
            counts = counts.where(self.session.dialect.among(nodes.c.tree, self.trees))
        sizes = {row.tree: int(row.there) for row in self.session.execute(counts)}
        return [(row, sizes.get(row.key, 0)) for row in self.session.execute(statement)]

    def _grove(self) -> Record:
        row = self.session.execute(schema.grove.select()).one()
        return compact(
            record="grove",
            id=row.ulid,
            ownerId=self._agents.get(row.owner),
            preferences=orjson.loads(row.preferences),
            createdAt=time_of(row.created_at),
            updatedAt=time_of(row.updated_at),
            events=row.events,
            head=hex_of(row.head),
        )

    def _agent_records(self) -> Iterator[Record]:
        agents = schema.agents
        wanted = None if self.trees is None else self._referred_agents(self.trees)
        for row in self._rows(agents.select().order_by(agents.c.ulid)):
            if wanted is not None and row.key not in wanted:
                continue
            yield compact(
                record="agent",
                id=row.ulid,
                name=row.name,
                type=AGENT_TYPES[int(row.type)].value,
                modelRef=row.model_ref,
                configuration=orjson.loads(row.configuration),
                permissions=sorted(permission.value for permission in permissions_from(row.permissions)),
                createdAt=time_of(row.created_at),
                archivedAt=time_of(row.archived_at),
                hidden=row.hidden,
            )

    def _referred_agents(self, trees: Sequence[int]) -> set[int]:
        found: set[int] = set()
        for table in schema.metadata.sorted_tables:
            name = "author" if table in {schema.nodes, schema.links} else "agent"
            if table is schema.links or "tree" not in table.c or name not in table.c:
                continue
            column = table.c[name]
            for tree in trees:
                found.update(
                    self.session.execute(select(column).where(table.c.tree == tree).distinct()).scalars()
                )
        found.update(row.author for row, _ in self._link_rows())
        revisions = schema.project_revisions
        authors = select(revisions.c.author).where(revisions.c.project.in_(self._used_projects(trees)))
        found.update(self.session.execute(authors).scalars())
        return found

    def _used_projects(self, trees: Sequence[int]) -> Select[int]:
        there = self.session.dialect.among(schema.trees.c.key, trees)
        return select(schema.trees.c.project).where(there)

    def _projects(self) -> Iterator[Record]:
        projects = schema.projects
        statement = projects.select().order_by(projects.c.ulid)
        if self.trees is not None:
            statement = statement.where(projects.c.key.in_(self._used_projects(self.trees)))
        for row in self._rows(statement):
            yield compact(
                record="project",
                id=row.ulid,
                name=row.name,
                systemPrompt=row.system_prompt,
                context=orjson.loads(row.context),
                revision=row.revision,
                createdAt=time_of(row.created_at),
                archivedAt=time_of(row.archived_at),
                hidden=row.hidden,
            )
            revisions = schema.project_revisions
            statement = revisions.select().where(revisions.c.project == row.key)
            for revision in self._rows(statement.order_by(revisions.c.revision)):
                yield compact(
                    record="projectRevision",
                    revision=revision.revision,
                    name=revision.name,
                    systemPrompt=revision.system_prompt,
                    context=orjson.loads(revision.context),
                    authorId=self._agents[revision.author],
                    createdAt=time_of(revision.created_at),
                    hidden=revision.hidden,
                )

    def _documents(self) -> Iterator[Record]:
        documents, revisions = schema.documents, schema.revisions
        for row in self._rows(documents.select().order_by(documents.c.ulid)):
            yield compact(
                record="document",
                id=row.ulid,
                title=row.title,
                summary=row.summary,
                revision=row.revision,
                revisions=self._count(revisions, row.key, "document"),
                createdAt=time_of(row.created_at),
                updatedAt=time_of(row.updated_at),
                archivedAt=time_of(row.archived_at),
                hidden=row.hidden,
            )
            statement = revisions.select().where(revisions.c.document == row.key)
            for revision in self._rows(statement.order_by(revisions.c.revision)):
                yield compact(
                    record="revision",
                    revision=revision.revision,
                    title=revision.title,
                    content=revision.content,
                    authorId=self._agents[revision.author],
                    createdAt=time_of(revision.created_at),
                    hidden=revision.hidden,
                )

    def _tree(self, tree: Any) -> Iterator[Record]:
        key = tree.key
        project = None
        if tree.project is not None:
            projects = schema.projects
            project = self.session.execute(
                select(projects.c.ulid).where(projects.c.key == tree.project)
            ).scalar_one()
        yield compact(
            record="tree",
            id=tree.ulid,
            title=tree.title,
            description=tree.description or None,
            summary=tree.summary,
            mode=MODES[int(tree.mode)].value,
            systemContext=tree.system_context or None,
            bufferModeSystemContext=tree.buffer_mode_system_context or None,
            preferences=orjson.loads(tree.preferences),
            projectId=project,
            createdAt=time_of(tree.created_at),
            updatedAt=time_of(tree.updated_at),
            archivedAt=time_of(tree.archived_at),
            hidden=tree.hidden,
            nodes=self._count(schema.nodes, key),
            responses=self._count(schema.responses, key),
            attempts=self._count(schema.attempts, key),
            events=tree.events,
            head=hex_of(tree.head),
        )
        yield from self._bodies(key)
        yield from self._blob_records(key)
        responses = self._response_numbers(key)
        yield from self._responses(key)
        names = Names()
        yield from self._nodes(key, responses, names)
        yield from self._attempts(key, responses, names)
        for row in self._beside(schema.envelopes, key, "node"):
            yield envelope_record(row, self._agents[row.agent], names.ulid(row.node))
        yield from self._events(key)
        yield from self._typings(key)
        yield from self._places(key, names)

    def _count(self, table: Table, key: int, column: str = "tree") -> int:
        counted = select(func.count()).select_from(table).where(table.c[column] == key)
        return int(self.session.execute(counted).scalar_one())

    def _bodies(self, tree: int) -> Iterator[Record]:
        bodies = schema.bodies
        for row in self._rows(bodies.select().where(bodies.c.tree == tree).order_by(bodies.c.sha256)):
            yield from in_parts("body", row.sha256.hex(), unpack(row.gzip))

    def _blob_records(self, tree: int) -> Iterator[Record]:
        found = sorted(media_of_tree(self.session, tree) - self._blobs)
        self._blobs.update(found)
        for ref in found:
            try:
                data = self.blobs.get(ref)
            except (NotFoundError, StorageError):
                self._missing += 1
                yield {"record": "blob", "sha256": ref, "missing": True}
            else:
                yield from in_parts("blob", ref, data)

    def _response_numbers(self, tree: int) -> dict[int, int]:
        responses = schema.responses
        statement = select(responses.c.key).where(responses.c.tree == tree).order_by(responses.c.key)
        return {key: number for number, key in enumerate(self.session.execute(statement).scalars(), 1)}

    def _responses(self, tree: int) -> Iterator[Record]:
        responses = schema.responses
        for row in self._rows(responses.select().where(responses.c.tree == tree).order_by(responses.c.key)):
            yield compact(
                record="response",
                sha256=row.sha256.hex(),
                provider=row.provider,
                model=row.model,
                requestId=row.request_id,
                statusCode=row.status_code,
                requestedAt=time_of(row.requested_at),
                respondedAt=time_of(row.responded_at),
                promptTokens=row.prompt_tokens,
                completionTokens=row.completion_tokens,
                totalTokens=row.total_tokens,
                cachedRead=row.cached_read,
                cachedWrite=row.cached_write,
            )

    def _nodes(self, tree: int, responses: dict[int, int], names: Names) -> Iterator[Record]:
        nodes, texts = schema.nodes, schema.texts
        joined = and_(texts.c.tree == nodes.c.tree, texts.c.node == nodes.c.key)
        statement = (
            select(nodes, texts.c.content, texts.c.summary)
            .join(texts, joined)
            .where(nodes.c.tree == tree)
            .order_by(nodes.c.key)
        )
        sources = Beside(self._beside(schema.sources, tree, "target"), "target")
        items = Beside(self._beside(schema.attachments, tree, "node"), "node")
        answers = Beside(self._beside(schema.node_responses, tree, "node"), "node")
        for row in self._rows(statement):
            names.add(row.key, row.ulid, row.hash)
            parent = row.parent if row.written_after is None else row.written_after
            listed = [(s.source, SOURCE_ROLES[int(s.role)]) for s in sources.of(row.key)]
            if not listed and parent is not None:
                listed = [(parent, SOURCE_ROLES[0])]
            answer = next(iter(answers.of(row.key)), None)
            yield compact(
                record="node",
                id=row.ulid,
                localId=row.local_id,
                versionOf=None if row.position == row.key else names.ulid(row.position),
                edgeType=None if row.parent is None else EDGE_TYPES[int(row.edge_type)].value,
                sources=[
                    {"id": names.ulid(key), "role": role.value, "hash": names.hash(key)}
                    for key, role in listed
                ]
                or None,
                editedFrom=None if row.edited_from is None else names.ulid(row.edited_from),
                authorId=self._agents[row.author],
                role=ROLES[int(row.role)].value,
                status=STATUSES[int(row.status)].value,
                content=content_to_wire(load_content(row.kind, row.content)),
                summary=row.summary,
                attachments=[item_record(item) for item in items.of(row.key)] or None,
                response=None if answer is None else responses[answer.response],
                choice=None if answer is None else answer.choice,
                createdAt=time_of(row.created_at),
                excluded=bool(row.flags & Flag.EXCLUDED) or None,
                bookmarked=bool(row.flags & Flag.BOOKMARKED) or None,
                bookmarkLabel=row.bookmark_label,
                joined=bool(row.flags & Flag.JOINED) or None,
                pruned=row.pruned,
                hidden=row.hidden,
                contentHash=row.hash.hex(),
            )
            self.nodes += 1
            if self.nodes % BATCH == 0:
                self.progress(self.nodes, self._total)

    def _beside(self, table: Table, tree: int, name: str) -> Iterator[Any]:
        order = [table.c[name], *([table.c.ordinal] if "ordinal" in table.c else [])]
        return self._rows(table.select().where(table.c.tree == tree).order_by(*order))

    def _attempts(self, tree: int, responses: dict[int, int], names: Names) -> Iterator[Record]:
        attempts, manifests = schema.attempts, schema.manifests
        segments = Beside(self._beside(schema.requests, tree, "attempt"), "attempt")
        for row in self._rows(attempts.select().where(attempts.c.tree == tree).order_by(attempts.c.key)):
            manifest = self.session.execute(
                manifests.select().where(manifests.c.tree == tree, manifests.c.attempt == row.key)
            ).one_or_none()
            yield compact(
                record="attempt",
                id=row.ulid,
                agentId=self._agents[row.agent],
                parent=names.ulid(row.parent),
                outcome=OUTCOMES[int(row.outcome)].value,
                idempotencyKey=row.idempotency_key,
                request=hex_of(row.request),
                segments=[segment.segment.hex() for segment in segments.of(row.key)] or None,
                manifestSha256=None if manifest is None else manifest.sha256.hex(),
                manifest=None if manifest is None else base64_of(unpack(manifest.gzip)),
                response=None if row.response is None else responses[row.response],
                partial=None if row.partial is None else base64_of(row.partial),
                error=row.error,
                startedAt=time_of(row.started_at),
                endedAt=time_of(row.ended_at),
            )

    def _events(self, tree: int) -> Iterator[Record]:
        events = schema.events
        for row in self._rows(events.select().where(events.c.tree == tree).order_by(events.c.ordinal)):
            yield {
                "record": "event",
                "kind": row.kind,
                "agentId": self._agents[row.agent],
                "payload": orjson.loads(row.payload),
                "inverse": orjson.loads(row.inverse),
                "createdAt": time_of(row.created_at),
                "hash": row.hash.hex(),
            }

    def _typings(self, tree: int) -> Iterator[Record]:
        typings = schema.typings
        for row in self._rows(typings.select().where(typings.c.tree == tree).order_by(typings.c.ordinal)):
            yield {
                "record": "typing",
                "event": row.ordinal,
                "kept": row.kept,
                "removed": row.removed,
                "added": row.added,
            }

    def _places(self, tree: int, names: Names) -> Iterator[Record]:
        """Where agents stand and what they have under way; ordered by the agents' ids."""
        for row in self._by_agent(schema.cursors, tree):
            yield {
                "record": "cursor",
                "agentId": row.agent_ulid,
                "node": names.ulid(row.node),
                "updatedAt": time_of(row.updated_at),
            }
        for row in self._by_agent(schema.selections, tree, schema.selections.c.position):
            yield {
                "record": "selection",
                "agentId": row.agent_ulid,
                "position": names.ulid(row.position),
                "node": names.ulid(row.node),
            }
        for row in self._by_agent(schema.buffers, tree):
            yield {
                "record": "buffer",
                "agentId": row.agent_ulid,
                "text": row.text,
                "updatedAt": time_of(row.updated_at),
            }
        groups = schema.groups
        for row in self._rows(groups.select().where(groups.c.tree == tree).order_by(groups.c.ulid)):
            yield compact(
                record="group",
                id=row.ulid,
                name=row.name,
                description=row.description or None,
                first=names.ulid(row.first),
                last=names.ulid(row.last),
                expanded=row.expanded or None,
                createdAt=time_of(row.created_at),
            )
        for row in self._by_agent(schema.memory, tree, schema.memory.c.ordinal):
            if row.kind == MemoryKind.RESULT:
                # What fades is nobody's work.
                continue
            yield compact(
                record="memory",
                agentId=row.agent_ulid,
                ordinal=row.ordinal,
                kind=row.kind,
                label=row.label,
                body=row.body,
                createdAt=time_of(row.created_at),
                removedAt=time_of(row.removed),
            )
        yield from self._timestamps(tree)

    def _timestamps(self, tree: int) -> Iterator[Record]:
        stamps = schema.timestamps
        for row in self._rows(stamps.select().where(stamps.c.tree == tree).order_by(stamps.c.ulid)):
            yield compact(
                record="timestamp",
                id=row.ulid,
                target=row.target,
                statement=row.statement,
                digest=hex_of(row.digest),
                authority=row.authority,
                status=row.status,
                token=None if row.token is None else base64_of(row.token),
                certificates=None if row.certificates is None else base64_of(row.certificates),
                certifiedAt=time_of(row.certified_at),
                attempts=row.attempts,
                nextTry=time_of(row.next_try),
                error=row.error,
                createdAt=time_of(row.created_at),
            )

    def _by_agent(self, table: Table, tree: int, *order: Any) -> Iterator[Any]:
        agents = schema.agents
        return self._rows(
            select(table, agents.c.ulid.label("agent_ulid"))
            .join(agents, agents.c.key == table.c.agent)
            .where(table.c.tree == tree)
            .order_by(agents.c.ulid, *order)
        )

    def _link_rows(self) -> Iterator[tuple[Any, list[Record]]]:
        """Links whose two ends are both given out."""
        links = schema.links
        left_out = 0
        for row in self._rows(links.select().order_by(links.c.ulid)):
            ends = (Address(row.a_tree, row.a_kind, row.a_key), Address(row.b_tree, row.b_kind, row.b_key))
            inside = [self._is_inside(end) for end in ends]
            if all(inside):
                targets = self._targets(ends)
                if len(targets) == len(ends):
                    yield row, sorted(targets, key=lambda end: (str(end["kind"]), str(end["id"])))
            elif any(inside):
                left_out += 1
        told = f"{left_out:,} links lead out of what is exported, and stay behind"
        if left_out and told not in self.notes:
            self.notes.append(told)

    def _links(self) -> Iterator[Record]:
        for row, ends in self._link_rows():
            yield compact(
                record="link",
                id=row.ulid,
                ends=ends,
                note=row.note or None,
                authorId=self._agents[row.author],
                createdAt=time_of(row.created_at),
                removedAt=time_of(row.removed),
            )

    def _tags(self) -> Iterator[Record]:
        tags = schema.tags
        for row in self._rows(tags.select().order_by(tags.c.key)):
            address = Address(row.tree, row.kind, row.target)
            for target in self._targets([address]) if self._is_inside(address) else ():
                yield compact(
                    record="tag",
                    number=row.key,
                    target=target,
                    label=row.label,
                    createdAt=time_of(row.created_at),
                    removedAt=time_of(row.removed),
                )

    def _is_inside(self, address: Address) -> bool:
        return self.trees is None or address.tree in self.trees

    def _targets(self, addresses: Iterable[Address]) -> list[Record]:
        listed = list(addresses)
        found = targets_of(self.session, set(listed))
        trees = schema.trees
        ends: list[Record] = []
        for address in listed:
            target = found.get(address)
            if target is None:
                continue
            end: Record = {"kind": target.kind.value, "id": target.id}
            if TARGET_KINDS[address.kind] is TargetKind.NODE:
                named = select(trees.c.ulid).where(trees.c.key == address.tree)
                end["treeId"] = self.session.execute(named).scalar_one()
            ends.append(end)
        return ends

    def _kept_records(self) -> Iterator[Record]:
        records = schema.records
        for row in self._rows(records.select().order_by(records.c.ulid)):
            yield compact(
                record="record",
                ulid=row.ulid,
                user=row.user or None,
                project=row.project or None,
                session=row.session or None,
                topic=row.topic or None,
                stream=row.stream,
                id=row.id,
                createTime=row.create_time,
                document=row.document,
                hidden=row.hidden,
            )
        index = schema.group_index
        for row in self._rows(index.select().order_by(*index.primary_key.columns)):
            yield compact(
                record="groupEntry",
                user=row.user or None,
                session=row.session,
                shelf=row.shelf,
                name=row.name,
                document=row.document,
            )
