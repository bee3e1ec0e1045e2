"""Tables of work under way: who extends a position, which calls are made once, what is to be done later."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    SmallInteger,
    Text,
    column,
    literal_column,
)

from weft.store.schema.columns import SHA256, ULID, table

leases = table(
    "leases",
    Column("tree", Integer, primary_key=True, autoincrement=False),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("run", ULID, nullable=False),
    Column("agent", Integer, nullable=False),
    Column("token", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    ForeignKeyConstraint(["tree"], ["trees.key"]),
    sqlite_with_rowid=False,
)

idempotency = table(
    "idempotency",
    Column("scope", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("body", SHA256, nullable=False),
    Column("state", SmallInteger, nullable=False),
    Column("result", Text),
    Column("holder", Text),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Column("held_until", BigInteger),
    Index(None, "expires_at"),
)

kept_answers = table(
    "kept_answers",
    Column("tree", Integer, primary_key=True, autoincrement=False),
    Column("scope", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("status", SmallInteger, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
)
"""Answers to requests with an idempotency key; they are deleted with their tree."""

jobs = table(
    "jobs",
    Column("key", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),
    Column("tree", Integer, nullable=False),
    Column("kind", Text, nullable=False),
    Column("target", Integer),
    Column("payload", Text, nullable=False),
    Column("state", SmallInteger, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("run_after", BigInteger, nullable=False),
    Column("holder", Text),
    Column("held_until", BigInteger),
    Column("error", Text),
    Column("created_at", BigInteger, nullable=False),
    Index(None, "kind", "state", "run_after"),
    Index(
        "ix_jobs_waiting",
        "tree",
        "kind",
        "target",
        unique=True,
        info={"where": column("state") == literal_column("0")},
    ),
)

calls = table(
    "calls",
    Column("tree", Integer, primary_key=True, autoincrement=False),
    Column("attempt", Integer, primary_key=True, autoincrement=False),
    Column("asker", Integer, nullable=False),
    Column("sources", Text, nullable=False),
    Column("provider", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("run", ULID, nullable=False),
    Column("token", BigInteger, nullable=False),
    Column("holder", Text, nullable=False),
    Column("held_until", BigInteger, nullable=False),
    Column("stopping", Boolean),
    ForeignKeyConstraint(["tree", "attempt"], ["attempts.tree", "attempts.key"], ondelete="CASCADE"),
    ForeignKeyConstraint(["asker"], ["agents.key"]),
)
"""Calls of models under way: what is needed to close one whose process died."""

pieces = table(
    "pieces",
    Column("tree", Integer, primary_key=True, autoincrement=False),
    Column("attempt", Integer, primary_key=True, autoincrement=False),
    Column("ordinal", Integer, primary_key=True, autoincrement=False),
    Column("said", Text, nullable=False),
    Column("wire", LargeBinary, nullable=False),
    ForeignKeyConstraint(["tree", "attempt"], ["calls.tree", "calls.attempt"], ondelete="CASCADE"),
)
"""What came of an answer so far, written down as it comes; gone when the call has ended."""

runs = table(
    "runs",
    Column("tree", Integer, primary_key=True, autoincrement=False),
    Column("run", ULID, primary_key=True),
    Column("agent", Integer, nullable=False),
    Column("asker", Integer, nullable=False),
    Column("start", Integer, nullable=False),
    Column("head", Integer, nullable=False),
    Column("holder", Text, nullable=False),
    Column("held_until", BigInteger, nullable=False),
    Column("turns", Integer, nullable=False),
    Column("said", Text, nullable=False),
    Column("batch", Text, nullable=False),
    Column("attempt", ULID),
    Column("started_at", BigInteger, nullable=False),
    Column("runner", Text),
    ForeignKeyConstraint(["tree"], ["trees.key"]),
    ForeignKeyConstraint(["agent"], ["agents.key"]),
)
"""Runs of collaborators and runners under way: what is needed to close one whose process died. Gone when it has ended."""

approvals = table(
    "approvals",
    Column("tree", Integer, primary_key=True, autoincrement=False),
    Column("ulid", ULID, primary_key=True),
    Column("run", ULID, nullable=False),
    Column("node", Integer, nullable=False),
    Column("agent", Integer, nullable=False),
    Column("asker", Integer, nullable=False),
    Column("subject", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("description", Text, nullable=False),
    Column("call", Text, nullable=False),
    Column("arguments", Text, nullable=False),
    Column("state", SmallInteger, nullable=False),
    Column("decided_by", Integer),
    Column("decided_at", BigInteger),
    Column("expires_at", BigInteger, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    ForeignKeyConstraint(["tree"], ["trees.key"]),
    ForeignKeyConstraint(["agent"], ["agents.key"]),
)
"""What agents may not do unless a person allows it: their runs wait. Decided ones stay for a day."""

run_records = table(
    "run_records",
    Column("tree", Integer, primary_key=True, autoincrement=False),
    Column("run", ULID, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("node", Integer, nullable=False),
    Column("asker", Integer, nullable=False),
    Column("status", SmallInteger, nullable=False),
    Column("stopping", Boolean, nullable=False),
    Column("note", Text),
    Column("error", Text),
    Column("started_at", BigInteger, nullable=False),
    Column("ended_at", BigInteger),
    ForeignKeyConstraint(["tree"], ["trees.key"]),
    ForeignKeyConstraint(["asker"], ["agents.key"]),
    Index(None, "run"),
    Index(None, "ended_at"),
)
"""Generations and runs, under way and ended: what a client that comes back asks for."""

run_attempts = table(
    "run_attempts",
    Column("tree", Integer, primary_key=True, autoincrement=False),
    Column("attempt", Integer, primary_key=True, autoincrement=False),
    Column("run", ULID, nullable=False),
    Column("ulid", ULID, nullable=False),
    Column("model", Text, nullable=False),
    Column("choices", SmallInteger, nullable=False),
    Column("nodes", Text),
    Column("error", Text),
    ForeignKeyConstraint(["tree", "run"], ["run_records.tree", "run_records.run"], ondelete="CASCADE"),
    ForeignKeyConstraint(["tree", "attempt"], ["attempts.tree", "attempts.key"], ondelete="CASCADE"),
    Index(None, "ulid"),
    Index(None, "tree", "run"),
)
"""The calls of each run, and the nodes that they became."""

run_steps = table(
    "run_steps",
    Column("tree", Integer, primary_key=True, autoincrement=False),
    Column("run", ULID, primary_key=True),
    Column("ordinal", Integer, primary_key=True, autoincrement=False),
    Column("turn", Integer, nullable=False),
    Column("kind", Text, nullable=False),
    Column("body", Text, nullable=False),
    ForeignKeyConstraint(["tree", "run"], ["run_records.tree", "run_records.run"], ondelete="CASCADE"),
)
"""What a collaborator's or a runner's run did, step by step: commands and their results, tools, notices."""

spending = table(
    "spending",
    Column("key", Integer, primary_key=True),
    Column("attempt", ULID, nullable=False, unique=True),
    Column("in_tree", Integer, nullable=False),
    Column("agent", Integer, nullable=False),
    Column("day", Integer, nullable=False),
    Column("micros", BigInteger, nullable=False),
    Column("is_settled", Boolean, nullable=False),
    ForeignKeyConstraint(["agent"], ["agents.key"]),
    Index(None, "day"),
    Index(None, "in_tree"),
    Index(None, "agent"),
)
"""Millionths of a dollar for each call, expected or settled. Stays when its tree is deleted: it was spent."""

imports = table(
    "imports",
    Column("key", Integer, primary_key=True),
    Column("ulid", ULID, nullable=False, unique=True),
    Column("agent", Integer, nullable=False),
    Column("user", Integer),
    Column("name", Text, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("options", Text, nullable=False),
    Column("state", SmallInteger, nullable=False),
    Column("done", Integer, nullable=False),
    Column("total", Integer, nullable=False),
    Column("report", Text, nullable=False),
    Column("error", Text),
    Column("created_at", BigInteger, nullable=False),
    Column("started_at", BigInteger),
    Column("ended_at", BigInteger),
    ForeignKeyConstraint(["agent"], ["agents.key"]),
)
"""Uploaded files that are or were imported, and the report on each."""

imported_conversations = table(
    "imported_conversations",
    Column("import", Integer, primary_key=True, autoincrement=False),
    Column("ordinal", Integer, primary_key=True, autoincrement=False),
    Column("value", Text, nullable=False),
    ForeignKeyConstraint(["import"], ["imports.key"], ondelete="CASCADE"),
)
"""What became of each conversation of an import, in the file's order."""

provider_caches = table(
    "provider_caches",
    Column("key", Integer, primary_key=True),
    Column("in_tree", Integer, nullable=False),
    Column("agent", Integer, nullable=False),
    Column("model", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("prefix", SHA256, nullable=False),
    Column("messages", Integer, nullable=False),
    Column("tokens", Integer, nullable=False),
    Column("lifetime", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Column("retired", Boolean, nullable=False),
    Column("attempt", ULID),
    Column("created_at", BigInteger, nullable=False),
    ForeignKeyConstraint(["agent"], ["agents.key"]),
    Index(None, "in_tree", "model"),
)
"""Caches at providers. A row stays when its tree is deleted, until the cache is deleted there."""
