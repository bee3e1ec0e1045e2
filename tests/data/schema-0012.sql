CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
CREATE TABLE agents (
	"key" INTEGER NOT NULL, 
	ulid VARCHAR(26) NOT NULL, 
	name TEXT NOT NULL, 
	type SMALLINT NOT NULL, 
	model_ref TEXT, 
	configuration TEXT NOT NULL, 
	permissions INTEGER NOT NULL, 
	created_at BIGINT NOT NULL, 
	archived_at BIGINT, hidden BIGINT, 
	CONSTRAINT pk_agents PRIMARY KEY ("key"), 
	CONSTRAINT uq_agents_ulid UNIQUE (ulid)
);
CREATE INDEX ix_agents_name ON agents (name);
CREATE TABLE bodies (
	tree INTEGER NOT NULL, 
	sha256 BLOB NOT NULL, 
	gzip BLOB NOT NULL, 
	CONSTRAINT pk_bodies PRIMARY KEY (tree, sha256)
);
CREATE TABLE documents (
	"key" INTEGER NOT NULL, 
	ulid VARCHAR(26) NOT NULL, 
	title TEXT NOT NULL, 
	summary TEXT, 
	revision INTEGER NOT NULL, 
	created_at BIGINT NOT NULL, 
	updated_at BIGINT NOT NULL, 
	archived_at BIGINT, hidden BIGINT, 
	CONSTRAINT pk_documents PRIMARY KEY ("key"), 
	CONSTRAINT uq_documents_ulid UNIQUE (ulid)
);
CREATE INDEX ix_documents_title ON documents (title);
CREATE TABLE grove (
	"key" INTEGER NOT NULL, 
	ulid VARCHAR(26) NOT NULL, 
	owner INTEGER, 
	preferences TEXT NOT NULL, 
	created_at BIGINT NOT NULL, 
	updated_at BIGINT NOT NULL, 
	events BIGINT NOT NULL, 
	head BLOB, 
	CONSTRAINT pk_grove PRIMARY KEY ("key"), 
	CONSTRAINT ck_grove_one CHECK (key = 0)
);
CREATE TABLE idempotency (
	scope TEXT NOT NULL, 
	"key" TEXT NOT NULL, 
	body BLOB NOT NULL, 
	state SMALLINT NOT NULL, 
	result TEXT, 
	holder TEXT, 
	created_at BIGINT NOT NULL, 
	expires_at BIGINT NOT NULL, held_until BIGINT, 
	CONSTRAINT pk_idempotency PRIMARY KEY (scope, "key")
);
CREATE TABLE jobs (
	"key" INTEGER NOT NULL, 
	tree INTEGER NOT NULL, 
	kind TEXT NOT NULL, 
	target INTEGER, 
	payload TEXT NOT NULL, 
	state SMALLINT NOT NULL, 
	attempts INTEGER NOT NULL, 
	run_after BIGINT NOT NULL, 
	holder TEXT, 
	held_until BIGINT, 
	error TEXT, 
	created_at BIGINT NOT NULL, 
	CONSTRAINT pk_jobs PRIMARY KEY ("key")
);
CREATE INDEX ix_jobs_state_run_after ON jobs (state, run_after);
CREATE INDEX ix_jobs_tree ON jobs (tree);
CREATE TABLE tags (
	"key" INTEGER NOT NULL, 
	tree INTEGER NOT NULL, 
	kind SMALLINT NOT NULL, 
	target INTEGER NOT NULL, 
	label TEXT NOT NULL, 
	created_at BIGINT NOT NULL, 
	removed BIGINT, 
	CONSTRAINT pk_tags PRIMARY KEY ("key"), 
	CONSTRAINT uq_tags_tree_kind_target_label UNIQUE (tree, kind, target, label)
);
CREATE INDEX ix_tags_label ON tags (label);
CREATE TABLE revisions (
	document INTEGER NOT NULL, 
	revision INTEGER NOT NULL, 
	title TEXT NOT NULL, 
	content TEXT NOT NULL, 
	author INTEGER NOT NULL, 
	created_at BIGINT NOT NULL, hidden BIGINT, 
	CONSTRAINT pk_revisions PRIMARY KEY (document, revision), 
	CONSTRAINT fk_revisions_agents FOREIGN KEY(author) REFERENCES agents ("key"), 
	CONSTRAINT fk_revisions_documents FOREIGN KEY(document) REFERENCES documents ("key") ON DELETE CASCADE
);
CREATE TABLE trees (
	"key" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	ulid VARCHAR(26) NOT NULL, 
	title TEXT NOT NULL, 
	description TEXT NOT NULL, 
	summary TEXT, 
	mode SMALLINT NOT NULL, 
	system_context TEXT NOT NULL, 
	buffer_mode_system_context BOOLEAN NOT NULL, 
	preferences TEXT NOT NULL, 
	project INTEGER, 
	root INTEGER NOT NULL, 
	root_ulid VARCHAR(26) NOT NULL, 
	created_at BIGINT NOT NULL, 
	updated_at BIGINT NOT NULL, 
	archived_at BIGINT, 
	next_key INTEGER NOT NULL, 
	nodes INTEGER NOT NULL, 
	branches INTEGER NOT NULL, 
	depth INTEGER NOT NULL, 
	events BIGINT NOT NULL, 
	head BLOB, leased_until BIGINT, hidden BIGINT, 
	CONSTRAINT fk_trees_projects FOREIGN KEY(project) REFERENCES projects ("key"), 
	CONSTRAINT uq_trees_ulid UNIQUE (ulid)
);
CREATE INDEX ix_trees_updated_at ON trees (updated_at);
CREATE TABLE users (
	"key" INTEGER NOT NULL, 
	ulid VARCHAR(26) NOT NULL, 
	name TEXT NOT NULL, 
	agent INTEGER NOT NULL, 
	created_at BIGINT NOT NULL, 
	archived_at BIGINT, 
	CONSTRAINT pk_users PRIMARY KEY ("key"), 
	CONSTRAINT fk_users_agents FOREIGN KEY(agent) REFERENCES agents ("key"), 
	CONSTRAINT uq_users_name UNIQUE (name), 
	CONSTRAINT uq_users_ulid UNIQUE (ulid)
);
CREATE TABLE attempts (
	tree INTEGER NOT NULL, 
	"key" INTEGER NOT NULL, 
	ulid VARCHAR(26) NOT NULL, 
	agent INTEGER NOT NULL, 
	parent INTEGER NOT NULL, 
	outcome SMALLINT NOT NULL, 
	idempotency_key TEXT, 
	request BLOB, 
	response INTEGER, 
	partial BLOB, 
	error TEXT, 
	started_at BIGINT NOT NULL, 
	ended_at BIGINT, 
	CONSTRAINT pk_attempts PRIMARY KEY (tree, "key"), 
	CONSTRAINT fk_attempts_agents FOREIGN KEY(agent) REFERENCES agents ("key"), 
	CONSTRAINT fk_attempts_trees FOREIGN KEY(tree) REFERENCES trees ("key"), 
	CONSTRAINT uq_attempts_tree_ulid UNIQUE (tree, ulid)
);
CREATE TABLE buffers (
	tree INTEGER NOT NULL, 
	agent INTEGER NOT NULL, 
	text TEXT NOT NULL, 
	updated_at BIGINT NOT NULL, 
	CONSTRAINT pk_buffers PRIMARY KEY (tree, agent), 
	CONSTRAINT fk_buffers_trees FOREIGN KEY(tree) REFERENCES trees ("key")
);
CREATE TABLE groups (
	tree INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	ulid VARCHAR(26) NOT NULL, 
	description TEXT NOT NULL, 
	first INTEGER NOT NULL, 
	last INTEGER NOT NULL, 
	expanded BOOLEAN NOT NULL, 
	created_at BIGINT NOT NULL, 
	CONSTRAINT pk_groups PRIMARY KEY (tree, name), 
	CONSTRAINT fk_groups_trees FOREIGN KEY(tree) REFERENCES trees ("key")
);
CREATE TABLE leases (
	tree INTEGER NOT NULL, 
	position INTEGER NOT NULL, 
	run VARCHAR(26) NOT NULL, 
	agent INTEGER NOT NULL, 
	token BIGINT NOT NULL, 
	expires_at BIGINT NOT NULL, 
	CONSTRAINT pk_leases PRIMARY KEY (tree, position), 
	CONSTRAINT fk_leases_trees FOREIGN KEY(tree) REFERENCES trees ("key")
)
 WITHOUT ROWID;
CREATE TABLE memberships (
	tree INTEGER NOT NULL, 
	user INTEGER NOT NULL, 
	role SMALLINT NOT NULL, 
	CONSTRAINT pk_memberships PRIMARY KEY (tree, user), 
	CONSTRAINT fk_memberships_users FOREIGN KEY(user) REFERENCES users ("key") ON DELETE CASCADE
);
CREATE TABLE memory (
	tree INTEGER NOT NULL, 
	agent INTEGER NOT NULL, 
	ordinal INTEGER NOT NULL, 
	kind SMALLINT NOT NULL, 
	label TEXT, 
	body TEXT NOT NULL, 
	created_at BIGINT NOT NULL, removed BIGINT, 
	CONSTRAINT pk_memory PRIMARY KEY (tree, agent, ordinal), 
	CONSTRAINT fk_memory_agents FOREIGN KEY(agent) REFERENCES agents ("key"), 
	CONSTRAINT fk_memory_trees FOREIGN KEY(tree) REFERENCES trees ("key")
);
CREATE TABLE nodes (
	tree INTEGER NOT NULL, 
	"key" INTEGER NOT NULL, 
	ulid VARCHAR(26) NOT NULL, 
	local_id TEXT NOT NULL, 
	position INTEGER NOT NULL, 
	parent INTEGER, 
	depth INTEGER NOT NULL, 
	jump INTEGER NOT NULL, 
	written_after INTEGER, 
	edge_type SMALLINT NOT NULL, 
	edited_from INTEGER, 
	author INTEGER NOT NULL, 
	author_type SMALLINT NOT NULL, 
	role SMALLINT NOT NULL, 
	kind SMALLINT NOT NULL, 
	status SMALLINT NOT NULL, 
	narrow INTEGER NOT NULL, 
	wide INTEGER NOT NULL, 
	ruler BIGINT NOT NULL, 
	near_attachments INTEGER, 
	near_instruction INTEGER, 
	flags SMALLINT NOT NULL, 
	pruned BIGINT, 
	hidden BIGINT, 
	bookmark_label TEXT, 
	hash BLOB NOT NULL, 
	created_at BIGINT NOT NULL, 
	CONSTRAINT pk_nodes PRIMARY KEY (tree, "key"), 
	CONSTRAINT fk_nodes_agents FOREIGN KEY(author) REFERENCES agents ("key"), 
	CONSTRAINT fk_nodes_trees FOREIGN KEY(tree) REFERENCES trees ("key"), 
	CONSTRAINT uq_nodes_tree_local_id UNIQUE (tree, local_id), 
	CONSTRAINT uq_nodes_tree_ulid UNIQUE (tree, ulid)
)
 WITHOUT ROWID;
CREATE INDEX ix_nodes_children ON nodes (tree, parent, "key");
CREATE INDEX ix_nodes_pruned ON nodes (tree, pruned) WHERE pruned IS NOT NULL;
CREATE INDEX ix_nodes_versions ON nodes (tree, position, "key") WHERE key != position;
CREATE TABLE responses (
	tree INTEGER NOT NULL, 
	"key" INTEGER NOT NULL, 
	sha256 BLOB NOT NULL, 
	provider TEXT NOT NULL, 
	model TEXT NOT NULL, 
	request_id TEXT, 
	status_code INTEGER, 
	requested_at BIGINT, 
	responded_at BIGINT, 
	prompt_tokens INTEGER, 
	completion_tokens INTEGER, 
	total_tokens INTEGER, 
	cached_read INTEGER, 
	cached_write INTEGER, 
	CONSTRAINT pk_responses PRIMARY KEY (tree, "key"), 
	CONSTRAINT fk_responses_bodies FOREIGN KEY(tree, sha256) REFERENCES bodies (tree, sha256), 
	CONSTRAINT fk_responses_trees FOREIGN KEY(tree) REFERENCES trees ("key")
);
CREATE TABLE tokens (
	"key" INTEGER NOT NULL, 
	ulid VARCHAR(26) NOT NULL, 
	user INTEGER NOT NULL, 
	hash BLOB NOT NULL, 
	label TEXT NOT NULL, 
	service BOOLEAN NOT NULL, 
	created_at BIGINT NOT NULL, 
	expires_at BIGINT, 
	revoked_at BIGINT, 
	CONSTRAINT pk_tokens PRIMARY KEY ("key"), 
	CONSTRAINT fk_tokens_users FOREIGN KEY(user) REFERENCES users ("key") ON DELETE CASCADE, 
	CONSTRAINT uq_tokens_hash UNIQUE (hash), 
	CONSTRAINT uq_tokens_ulid UNIQUE (ulid)
);
CREATE TABLE attachments (
	tree INTEGER NOT NULL, 
	node INTEGER NOT NULL, 
	ordinal SMALLINT NOT NULL, 
	id TEXT NOT NULL, 
	type TEXT NOT NULL, 
	sha256 BLOB NOT NULL, 
	recoverable BOOLEAN NOT NULL, 
	attached_by BIGINT, 
	detached_by BIGINT, about TEXT, 
	CONSTRAINT pk_attachments PRIMARY KEY (tree, node, ordinal), 
	CONSTRAINT fk_attachments_nodes FOREIGN KEY(tree, node) REFERENCES nodes (tree, "key") ON DELETE CASCADE, 
	CONSTRAINT fk_attachments_bodies FOREIGN KEY(tree, sha256) REFERENCES bodies (tree, sha256)
);
CREATE TABLE cursors (
	tree INTEGER NOT NULL, 
	agent INTEGER NOT NULL, 
	node INTEGER NOT NULL, 
	updated_at BIGINT NOT NULL, 
	CONSTRAINT pk_cursors PRIMARY KEY (tree, agent), 
	CONSTRAINT fk_cursors_agents FOREIGN KEY(agent) REFERENCES agents ("key"), 
	CONSTRAINT fk_cursors_nodes FOREIGN KEY(tree, node) REFERENCES nodes (tree, "key") ON DELETE CASCADE
)
 WITHOUT ROWID;
CREATE INDEX ix_cursors_agent_updated_at ON cursors (agent, updated_at);
CREATE TABLE manifests (
	tree INTEGER NOT NULL, 
	attempt INTEGER NOT NULL, 
	sha256 BLOB NOT NULL, 
	gzip BLOB NOT NULL, 
	CONSTRAINT pk_manifests PRIMARY KEY (tree, attempt), 
	CONSTRAINT fk_manifests_attempts FOREIGN KEY(tree, attempt) REFERENCES attempts (tree, "key") ON DELETE CASCADE
);
CREATE TABLE node_responses (
	tree INTEGER NOT NULL, 
	node INTEGER NOT NULL, 
	response INTEGER NOT NULL, 
	choice INTEGER NOT NULL, 
	CONSTRAINT pk_node_responses PRIMARY KEY (tree, node), 
	CONSTRAINT fk_node_responses_nodes FOREIGN KEY(tree, node) REFERENCES nodes (tree, "key") ON DELETE CASCADE, 
	CONSTRAINT fk_node_responses_responses FOREIGN KEY(tree, response) REFERENCES responses (tree, "key")
)
 WITHOUT ROWID;
CREATE TABLE requests (
	tree INTEGER NOT NULL, 
	attempt INTEGER NOT NULL, 
	ordinal INTEGER NOT NULL, 
	segment BLOB NOT NULL, 
	CONSTRAINT pk_requests PRIMARY KEY (tree, attempt, ordinal), 
	CONSTRAINT fk_requests_attempts FOREIGN KEY(tree, attempt) REFERENCES attempts (tree, "key") ON DELETE CASCADE, 
	CONSTRAINT fk_requests_bodies FOREIGN KEY(tree, segment) REFERENCES bodies (tree, sha256)
);
CREATE TABLE selections (
	tree INTEGER NOT NULL, 
	agent INTEGER NOT NULL, 
	position INTEGER NOT NULL, 
	node INTEGER NOT NULL, 
	CONSTRAINT pk_selections PRIMARY KEY (tree, agent, position), 
	CONSTRAINT fk_selections_nodes FOREIGN KEY(tree, node) REFERENCES nodes (tree, "key") ON DELETE CASCADE
)
 WITHOUT ROWID;
CREATE TABLE sources (
	tree INTEGER NOT NULL, 
	target INTEGER NOT NULL, 
	ordinal SMALLINT NOT NULL, 
	source INTEGER NOT NULL, 
	role SMALLINT NOT NULL, 
	CONSTRAINT pk_sources PRIMARY KEY (tree, target, ordinal), 
	CONSTRAINT fk_sources_nodes FOREIGN KEY(tree, target) REFERENCES nodes (tree, "key") ON DELETE CASCADE
)
 WITHOUT ROWID;
CREATE INDEX ix_sources_tree_source ON sources (tree, source);
CREATE TABLE texts (
	tree INTEGER NOT NULL, 
	node INTEGER NOT NULL, 
	content TEXT NOT NULL, 
	summary TEXT, 
	CONSTRAINT pk_texts PRIMARY KEY (tree, node), 
	CONSTRAINT fk_texts_nodes FOREIGN KEY(tree, node) REFERENCES nodes (tree, "key") ON DELETE CASCADE
);
CREATE TABLE events (
	tree INTEGER NOT NULL, 
	ordinal BIGINT NOT NULL, 
	number BIGINT NOT NULL, 
	"transaction" BIGINT NOT NULL, 
	kind TEXT NOT NULL, 
	agent INTEGER NOT NULL, 
	payload TEXT NOT NULL, 
	inverse TEXT NOT NULL, 
	created_at BIGINT NOT NULL, 
	previous BLOB, 
	hash BLOB NOT NULL, 
	CONSTRAINT pk_events PRIMARY KEY (tree, ordinal)
);
CREATE INDEX ix_events_transaction_number ON events ("transaction", number);
CREATE UNIQUE INDEX ix_jobs_waiting ON jobs (tree, kind, target) WHERE state = 0;
CREATE INDEX ix_idempotency_expires_at ON idempotency (expires_at);
CREATE TABLE project_revisions (
	project INTEGER NOT NULL, 
	revision INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	system_prompt TEXT NOT NULL, 
	context TEXT NOT NULL, 
	author INTEGER NOT NULL, 
	created_at BIGINT NOT NULL, hidden BIGINT, 
	CONSTRAINT pk_project_revisions PRIMARY KEY (project, revision), 
	CONSTRAINT fk_project_revisions_agents FOREIGN KEY(author) REFERENCES agents ("key"), 
	CONSTRAINT fk_project_revisions_projects FOREIGN KEY(project) REFERENCES projects ("key") ON DELETE CASCADE
);
CREATE INDEX ix_nodes_hidden ON nodes (tree, hidden) WHERE hidden IS NOT NULL;
CREATE INDEX ix_events_tree_agent_ordinal ON events (tree, agent, ordinal);
CREATE TABLE typings (
	tree INTEGER NOT NULL, 
	ordinal BIGINT NOT NULL, 
	kept INTEGER NOT NULL, 
	removed TEXT NOT NULL, 
	added TEXT NOT NULL, 
	CONSTRAINT pk_typings PRIMARY KEY (tree, ordinal), 
	CONSTRAINT fk_typings_trees FOREIGN KEY(tree) REFERENCES trees ("key")
);
CREATE TABLE "projects" (
	"key" INTEGER NOT NULL, 
	ulid VARCHAR(26) NOT NULL, 
	name TEXT NOT NULL, 
	system_prompt TEXT NOT NULL, 
	context TEXT NOT NULL, 
	created_at BIGINT NOT NULL, 
	archived_at BIGINT, 
	revision INTEGER DEFAULT '1' NOT NULL, 
	hidden BIGINT, 
	CONSTRAINT pk_projects PRIMARY KEY ("key"), 
	CONSTRAINT uq_projects_ulid UNIQUE (ulid)
);
CREATE INDEX ix_projects_name ON projects (name);
CREATE TABLE "links" (
	"key" INTEGER NOT NULL, 
	ulid VARCHAR(26) NOT NULL, 
	a_tree INTEGER NOT NULL, 
	a_kind SMALLINT NOT NULL, 
	a_key INTEGER NOT NULL, 
	b_tree INTEGER NOT NULL, 
	b_kind SMALLINT NOT NULL, 
	b_key INTEGER NOT NULL, 
	note TEXT NOT NULL, 
	author INTEGER NOT NULL, 
	created_at BIGINT NOT NULL, 
	removed BIGINT, 
	CONSTRAINT pk_links PRIMARY KEY ("key"), 
	CONSTRAINT uq_links_ulid UNIQUE (ulid), 
	CONSTRAINT fk_links_agents FOREIGN KEY(author) REFERENCES agents ("key")
);
CREATE INDEX ix_links_b_tree_b_kind_b_key ON links (b_tree, b_kind, b_key);
CREATE UNIQUE INDEX ix_links_ends ON links (a_tree, a_kind, a_key, b_tree, b_kind, b_key) WHERE removed IS NULL;
CREATE TABLE timestamps (
	tree INTEGER NOT NULL, 
	ulid VARCHAR(26) NOT NULL, 
	target VARCHAR(26) NOT NULL, 
	statement TEXT, 
	digest BLOB NOT NULL, 
	authority TEXT NOT NULL, 
	status SMALLINT NOT NULL, 
	token BLOB, 
	certificates BLOB, 
	certified_at BIGINT, 
	attempts INTEGER NOT NULL, 
	next_try BIGINT, 
	error TEXT, 
	created_at BIGINT NOT NULL, 
	CONSTRAINT pk_timestamps PRIMARY KEY (tree, ulid)
);
CREATE INDEX ix_timestamps_tree_target ON timestamps (tree, target);
CREATE TABLE search_state (
	"key" INTEGER NOT NULL, 
	folding INTEGER NOT NULL, 
	"transaction" BIGINT NOT NULL, 
	number BIGINT NOT NULL, 
	CONSTRAINT pk_search_state PRIMARY KEY ("key"), 
	CONSTRAINT ck_search_state_one CHECK (key = 0)
);
CREATE TABLE search_positions (
	tree INTEGER NOT NULL, 
	events BIGINT NOT NULL, 
	node INTEGER NOT NULL, 
	tag INTEGER NOT NULL, 
	CONSTRAINT pk_search_positions PRIMARY KEY (tree)
);
CREATE TABLE search_versions (
	tree INTEGER NOT NULL, 
	kind SMALLINT NOT NULL, 
	target INTEGER NOT NULL, 
	version BIGINT NOT NULL, 
	CONSTRAINT pk_search_versions PRIMARY KEY (tree, kind, target)
);
CREATE VIRTUAL TABLE search_terms USING fts5(title, body, tokenize = 'ascii');
CREATE INDEX ix_nodes_notes ON nodes (tree, parent, "key") WHERE edge_type = 1;
CREATE TABLE envelopes (
	tree INTEGER NOT NULL, 
	node INTEGER NOT NULL, 
	ordinal INTEGER NOT NULL, 
	agent INTEGER NOT NULL, 
	provider TEXT NOT NULL, 
	attempt VARCHAR(26), 
	legacy BOOLEAN NOT NULL, 
	sha256 BLOB NOT NULL, 
	gzip BLOB NOT NULL, 
	prefix BLOB NOT NULL, 
	total INTEGER NOT NULL, 
	predicted INTEGER NOT NULL, 
	cached INTEGER, 
	created_at BIGINT NOT NULL, 
	CONSTRAINT pk_envelopes PRIMARY KEY (tree, node, ordinal), 
	CONSTRAINT fk_envelopes_agents FOREIGN KEY(agent) REFERENCES agents ("key"), 
	CONSTRAINT fk_envelopes_nodes FOREIGN KEY(tree, node) REFERENCES nodes (tree, "key") ON DELETE CASCADE
);
CREATE INDEX ix_envelopes_tree_created_at ON envelopes (tree, created_at);
CREATE INDEX ix_envelopes_legacy ON envelopes (tree) WHERE legacy IS 1;
CREATE TABLE "vaults" (
	"key" INTEGER NOT NULL, 
	ulid VARCHAR(26) NOT NULL, 
	name TEXT NOT NULL, 
	path TEXT NOT NULL, 
	created_at BIGINT NOT NULL, 
	removed BIGINT, 
	CONSTRAINT pk_vaults PRIMARY KEY ("key"), 
	CONSTRAINT uq_vaults_ulid UNIQUE (ulid)
);
CREATE UNIQUE INDEX ix_vaults_name ON vaults (name) WHERE removed IS NULL;
CREATE TABLE records (
	"key" INTEGER NOT NULL, 
	ulid VARCHAR(26) NOT NULL, 
	user TEXT NOT NULL, 
	project TEXT NOT NULL, 
	session TEXT NOT NULL, 
	topic TEXT NOT NULL, 
	stream TEXT NOT NULL, 
	id TEXT NOT NULL, 
	create_time FLOAT NOT NULL, 
	document TEXT NOT NULL, 
	hidden BIGINT, 
	CONSTRAINT pk_records PRIMARY KEY ("key"), 
	CONSTRAINT uq_records_ulid UNIQUE (ulid), 
	CONSTRAINT uq_records_place UNIQUE (user, project, session, topic, stream, id)
);
CREATE INDEX ix_records_window ON records (user, project, session, topic, stream, create_time, id);
CREATE TABLE group_index (
	user TEXT NOT NULL, 
	session TEXT NOT NULL, 
	shelf SMALLINT NOT NULL, 
	name TEXT NOT NULL, 
	document TEXT NOT NULL, 
	CONSTRAINT pk_group_index PRIMARY KEY (user, session, shelf, name)
)
 WITHOUT ROWID;
CREATE TABLE calls (
	tree INTEGER NOT NULL, 
	attempt INTEGER NOT NULL, 
	asker INTEGER NOT NULL, 
	sources TEXT NOT NULL, 
	provider TEXT NOT NULL, 
	model TEXT NOT NULL, 
	run VARCHAR(26) NOT NULL, 
	token BIGINT NOT NULL, 
	holder TEXT NOT NULL, 
	held_until BIGINT NOT NULL, 
	CONSTRAINT pk_calls PRIMARY KEY (tree, attempt), 
	CONSTRAINT fk_calls_asker_agents FOREIGN KEY(asker) REFERENCES agents ("key"), 
	CONSTRAINT fk_calls_tree_attempts FOREIGN KEY(tree, attempt) REFERENCES attempts (tree, "key") ON DELETE CASCADE
);
CREATE TABLE pieces (
	tree INTEGER NOT NULL, 
	attempt INTEGER NOT NULL, 
	ordinal INTEGER NOT NULL, 
	said TEXT NOT NULL, 
	wire BLOB NOT NULL, 
	CONSTRAINT pk_pieces PRIMARY KEY (tree, attempt, ordinal), 
	CONSTRAINT fk_pieces_tree_calls FOREIGN KEY(tree, attempt) REFERENCES calls (tree, attempt) ON DELETE CASCADE
);
CREATE TABLE spending (
	"key" INTEGER NOT NULL, 
	attempt VARCHAR(26) NOT NULL, 
	in_tree INTEGER NOT NULL, 
	agent INTEGER NOT NULL, 
	day INTEGER NOT NULL, 
	micros BIGINT NOT NULL, 
	is_settled BOOLEAN NOT NULL, 
	CONSTRAINT pk_spending PRIMARY KEY ("key"), 
	CONSTRAINT fk_spending_agent_agents FOREIGN KEY(agent) REFERENCES agents ("key"), 
	CONSTRAINT uq_spending_attempt UNIQUE (attempt)
);
CREATE INDEX ix_spending_day ON spending (day);
CREATE INDEX ix_spending_in_tree ON spending (in_tree);
CREATE INDEX ix_spending_agent ON spending (agent);
CREATE TABLE followers (
	name TEXT NOT NULL, 
	cursor TEXT NOT NULL, 
	CONSTRAINT pk_followers PRIMARY KEY (name)
);
CREATE TABLE runs (
	tree INTEGER NOT NULL, 
	run VARCHAR(26) NOT NULL, 
	agent INTEGER NOT NULL, 
	asker INTEGER NOT NULL, 
	start INTEGER NOT NULL, 
	head INTEGER NOT NULL, 
	holder TEXT NOT NULL, 
	held_until BIGINT NOT NULL, 
	turns INTEGER NOT NULL, 
	said TEXT NOT NULL, 
	batch TEXT NOT NULL, 
	attempt VARCHAR(26), 
	started_at BIGINT NOT NULL, 
	CONSTRAINT pk_runs PRIMARY KEY (tree, run), 
	CONSTRAINT fk_runs_trees FOREIGN KEY(tree) REFERENCES trees ("key"), 
	CONSTRAINT fk_runs_agents FOREIGN KEY(agent) REFERENCES agents ("key")
);
INSERT INTO alembic_version VALUES ('0012');
INSERT INTO search_terms (search_terms, rank) VALUES ('rank', 'bm25(4.0, 1.0)')
