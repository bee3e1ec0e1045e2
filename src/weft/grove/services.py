"""The services of a grove: what a caller can do beyond trees and documents, each loaded when it is asked for."""

from typing import TYPE_CHECKING

from weft.runtime.operations.executor import Caller

if TYPE_CHECKING:
    from weft.grove.approvals import Approvals
    from weft.grove.tools import Tools
    from weft.runtime.contexts.layers import Contexts, Layers
    from weft.runtime.coordination.idempotency import Idempotency
    from weft.runtime.coordination.jobs import JobBoard
    from weft.runtime.coordination.leases import Leases
    from weft.runtime.evidence.provenance_view import Evidence
    from weft.runtime.operations.access import Users
    from weft.runtime.operations.drafts import Drafts, ReadMarks
    from weft.runtime.proxy.sessions import ProxyRecords
    from weft.runtime.records.group_index import GroupIndex
    from weft.runtime.records.recipes import Recipes
    from weft.runtime.records.streams import Records
    from weft.runtime.runners.service import Runners
    from weft.runtime.summaries.service import Summaries
    from weft.runtime.transfer.import_jobs import Imports


class GroveServices:
    """What one caller can ask of a grove, by the name of the service."""

    def __init__(self, caller: Caller) -> None:
        self.caller = caller

    @property
    def contexts(self) -> "Contexts":
        """Contexts: what models would see."""
        from weft.runtime.contexts.layers import (  # noqa: PLC0415 - the engine is loaded by who asks it
            Contexts,
        )

        return Contexts.of(self.caller)

    @property
    def tools(self) -> "Tools":
        """Tools whose output a turn can use: `loom.tools.run("localSearch", query="the lamp")`."""
        from weft.grove.tools import Tools  # noqa: PLC0415 - few calls look things up

        return Tools(self.caller)

    @property
    def approvals(self) -> "Approvals":
        """What agents wait for a person to allow, and what was granted in trees."""
        from weft.grove.approvals import Approvals  # noqa: PLC0415 - few calls decide

        return Approvals(self.caller)

    @property
    def layers(self) -> "Layers":
        """Requests in layers: what would be sent, what was sent, and how much of it was cached."""
        from weft.runtime.contexts.layers import Layers  # noqa: PLC0415 - the engine is loaded by who asks it

        return Layers.of(self.caller)

    @property
    def runners(self) -> "Runners":
        """Runners: how turns are run, and what they would send."""
        from weft.runtime.runners.service import Runners  # noqa: PLC0415 - few calls ask a model

        return Runners(self.caller)

    @property
    def proxy(self) -> "ProxyRecords":
        """What the proxy of a server recorded of other programs, and the policies of tokens."""
        from weft.runtime.proxy.sessions import ProxyRecords  # noqa: PLC0415 - few calls read it

        return ProxyRecords(self.caller)

    @property
    def evidence(self) -> "Evidence":
        """Verifying, provenance, timestamps, bundles."""
        from weft.runtime.evidence.provenance_view import (  # noqa: PLC0415 - brings cryptography along
            Evidence,
        )

        return Evidence(self.caller.store, self.caller.actor)

    @property
    def drafts(self) -> "Drafts":
        """What you are typing at nodes: `loom.drafts.keep(tree.id, node.id, "It was")`."""
        from weft.runtime.operations.drafts import Drafts  # noqa: PLC0415 - few calls type

        return Drafts(self.caller)

    @property
    def read_marks(self) -> "ReadMarks":
        """What you have read: `loom.read_marks.mark(tree.id, [node.id])`."""
        from weft.runtime.operations.drafts import ReadMarks  # noqa: PLC0415 - few calls need it

        return ReadMarks(self.caller)

    @property
    def jobs(self) -> "JobBoard":
        """Background jobs, and those that failed."""
        from weft.runtime.coordination.jobs import JobBoard  # noqa: PLC0415 - few calls need it

        return JobBoard(self.caller.executor, self.caller.actor)

    @property
    def imports(self) -> "Imports":
        """Imports of uploaded files, which run in the background, and their reports."""
        from weft.runtime.transfer.import_jobs import Imports  # noqa: PLC0415 - few calls need it

        return Imports(self.caller)

    @property
    def leases(self) -> "Leases":
        """Leases: the right to extend a position for a while."""
        from weft.runtime.coordination.leases import Leases  # noqa: PLC0415 - few calls need it

        return Leases(self.caller.executor, self.caller.actor)

    @property
    def idempotency(self) -> "Idempotency":
        """Idempotent calls: repeating a key returns the first result."""
        from weft.runtime.coordination.idempotency import Idempotency  # noqa: PLC0415 - few calls need it

        return Idempotency(self.caller.executor, self.caller.actor)

    @property
    def summaries(self) -> "Summaries":
        """Summaries: one sentence for a node or a document, two for a tree."""
        from weft.runtime.summaries.service import Summaries  # noqa: PLC0415 - brings providers along

        return Summaries(self.caller.executor, self.caller.actor)

    @property
    def records(self) -> "Records":
        """Records of other programs, in streams."""
        from weft.runtime.records.streams import Records  # noqa: PLC0415

        return Records(self.caller.executor, self.caller.actor)

    @property
    def groups(self) -> "GroupIndex":
        """Groups of a session's messages that are collapsed."""
        from weft.runtime.records.group_index import GroupIndex  # noqa: PLC0415

        return GroupIndex(self.caller.executor, self.caller.actor)

    @property
    def recipes(self) -> "Recipes":
        """Recipes over its records and trees."""
        from weft.runtime.records.recipes import Recipes  # noqa: PLC0415

        return Recipes(self.caller)

    @property
    def users(self) -> "Users":
        """Users and their tokens."""
        from weft.runtime.operations.access import Users  # noqa: PLC0415

        return Users(self.caller.executor, self.caller.actor)
