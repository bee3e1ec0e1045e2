// Generated from the server's OpenAPI document by `make web-types`.

export interface paths {
    "/api/agents": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List agents */
        get: operations["listAgents"];
        put?: never;
        /**
         * Add agent
         * @description A new agent. By default humans have all permissions, models none.
         */
        post: operations["addAgent"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/agents/{agent}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read an agent */
        get: operations["readAgent"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Change agent
         * @description Change an agent; what is not given stays. The type never changes.
         */
        patch: operations["changeAgent"];
        trace?: never;
    };
    "/api/agents/{agent}/archive": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Archive agent
         * @description Archive an agent, or restore it; what it wrote stays.
         */
        post: operations["archiveAgent"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/approvals": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List what agents wait for a person to allow */
        get: operations["listApprovals"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/approvals/{approval}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read what an agent asked for, and what became of it */
        get: operations["readApproval"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/approvals/{approval}/allow": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Allow approval
         * @description Allow what an agent asks for: once, or always in this tree. An owner allows permissions and trees.
         */
        post: operations["allowApproval"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/approvals/{approval}/deny": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Deny approval
         * @description Deny what an agent asks for: its run goes on without it.
         */
        post: operations["denyApproval"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/attempts/{attempt}/stop": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Stop one call of a run */
        post: operations["stopAttempt"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/attempts/{attempt}/text": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the text of an attempt from an offset on
         * @description Offsets count characters, not bytes; the text so far while it comes, and of its node afterwards.
         */
        get: operations["readAttemptText"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/calibrations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Calibrate
         * @description Store the calibration that the recorded calls of a model give as its next version.
         *
         *         Returns None while there are too few calls. Earlier versions stay: requests made with them can be repeated.
         */
        post: operations["calibrate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/default-agent": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the id of the agent that answers by default
         * @description The agent that answers where none is named.
         */
        get: operations["readDefaultAgent"];
        /**
         * Choose the agent that answers by default
         * @description The agent that answers where none is named.
         */
        put: operations["chooseDefaultAgent"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/documents": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List documents */
        get: operations["listDocuments"];
        put?: never;
        /**
         * Create document
         * @description A new document, at revision 1. Titles name documents, so they are unique.
         */
        post: operations["createDocument"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/documents/{document}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read a document */
        get: operations["readDocument"];
        /**
         * Save document
         * @description A new revision; a conflict if the document was saved since `revision`.
         */
        put: operations["saveDocument"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/documents/{document}/archive": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Archive document
         * @description Put a document away, or take it out again.
         */
        post: operations["archiveDocument"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/documents/{document}/delete": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Delete document
         * @description Destroy a document with all its revisions, for good. `confirm` must be its id.
         */
        post: operations["deleteDocument"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/documents/{document}/revisions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the revisions of a document */
        get: operations["listRevisions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/endpoints": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Keep the address of an OpenAI-compatible server */
        post: operations["addEndpoint"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/endpoints/{endpoint}/remove": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Remove an endpoint that was added, and its key */
        post: operations["removeEndpoint"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Follow events
         * @description Committed events have an id: the cursor to continue from, also as `Last-Event-ID`.
         *
         *     Without an id come `run`, `answer`, `turn` and `text`: what goes on now, from its beginning;
         *     `presence` in the trees that are named; and `job`.
         */
        get: operations["followEvents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Health check */
        get: operations["health"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read the latest operations in the grove itself */
        get: operations["readHistory"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/imports": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List imports */
        get: operations["listImports"];
        put?: never;
        /**
         * Import a file
         * @description The file as the body, or as the one file of a form: a file of weft export, or of another program, or a zip.
         *
         *     It is imported in the background. Each conversation is imported whole or not at all.
         */
        post: operations["startImport"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/imports/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read the report of an import */
        get: operations["readImport"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/imports/{name}/conversations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the conversations of an import */
        get: operations["listImportedConversations"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/imports/{name}/stop": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Stop an import */
        post: operations["stopImport"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/jobs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List jobs
         * @description Work in the background that waits, runs or failed, in the order it is due.
         */
        get: operations["listJobs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/jobs/{job}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel a job
         * @description What it has done stays done.
         */
        post: operations["cancelJob"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/jobs/{job}/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Run a job again now */
        post: operations["retryJob"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/links": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the links of a node, tree or document */
        get: operations["listLinks"];
        put?: never;
        /**
         * Link together
         * @description An undirected reference between any two of node, tree and document.
         */
        post: operations["linkTogether"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/links/remove": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Unlink
         * @description Take a link away.
         */
        post: operations["unlink"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/me": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read the agent that you are */
        get: operations["readMe"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/media": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Upload an image or a recording
         * @description The ref is the sha256 of the bytes: use it in the content of a node.
         */
        post: operations["uploadMedia"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/models": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List models
         * @description With window, output limit, abilities and prices; from saved lists that are at most a day old.
         */
        get: operations["listModels"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/passages": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Find passages of notes about a question */
        get: operations["searchNotes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/preferences": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read the grove's preferences */
        get: operations["readPreferences"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Prefer
         * @description Set some of the grove's preferences; None takes one back to its default.
         */
        patch: operations["prefer"];
        trace?: never;
    };
    "/api/projects": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List projects */
        get: operations["listProjects"];
        put?: never;
        /**
         * Create project
         * @description A new project, at revision 1.
         */
        post: operations["createProject"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/projects/{project}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read a project */
        get: operations["readProject"];
        /**
         * Change project
         * @description Another name, prompt or context; what is not given stays.
         *
         *         `revision` is the one the change started from. A conflict if the project was changed since.
         */
        put: operations["changeProject"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/projects/{project}/archive": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Archive project
         * @description Put a project away, or take it out again. Its trees stay in it.
         */
        post: operations["archiveProject"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/providers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List providers and endpoints, and where their keys are */
        get: operations["listProviders"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/providers/{provider}/key": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /** Keep the key of a provider */
        put: operations["setKey"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/providers/{provider}/key/remove": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Forget the stored key of a provider */
        post: operations["removeKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/proxy": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show how the proxy is used */
        get: operations["readProxy"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/proxy/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List sessions of the proxy
         * @description Sessions of sub-agents name the session and the call that started them.
         */
        get: operations["listProxySessions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/proxy/sessions/{session}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show a session of the proxy */
        get: operations["readProxySession"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/proxy/sessions/{session}/requests": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the requests of a session
         * @description Side requests are among them, marked by their purpose.
         */
        get: operations["listProxyRequests"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/recipes/run": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Run a recipe, with its manifest
         * @description The same, with every source and what each filter did.
         */
        post: operations["explainRecipe"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/records": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List a stream's records
         * @description Records with begin < time ≤ end. Only a service token names the user.
         */
        get: operations["listRecords"];
        put?: never;
        /**
         * Append records
         * @description All or none. Repeating it changes nothing; the same id with another value is a conflict.
         */
        post: operations["appendRecords"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/records/streams": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List a user's streams
         * @description Each with the number of its records and the times of the first and the last.
         */
        get: operations["listStreams"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/redo": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Redo
         * @description Redo what the acting agent has undone since its last operation; all or none.
         */
        post: operations["redoInGrove"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the runs under way */
        get: operations["listRuns"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{run}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read a run */
        get: operations["readRun"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{run}/steps": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read what a collaborator's or a runner's run did */
        get: operations["readRunSteps"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{run}/stop": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Stop a run */
        post: operations["stopRun"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sample": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Plant the sample tree
         * @description A story in the making, with agents of its own, to walk through.
         */
        post: operations["plantSample"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/search": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Search the grove */
        get: operations["search"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/session": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read who is signed in
         * @description The user's name, or null for the grove's owner on this machine.
         */
        get: operations["readSession"];
        put?: never;
        /**
         * Sign in
         * @description Exchange a token for a cookie of this browser, which has the same rights for 30 days.
         */
        post: operations["signIn"];
        /**
         * Sign out
         * @description End this browser's session. A token that was not made by signing in stays valid: revoke it instead.
         */
        delete: operations["signOut"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/spend": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read what models cost
         * @description What models have cost, in dollars, and the caps.
         */
        get: operations["readSpending"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/spend/caps": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Cap the spending of the grove, a tree or an agent
         * @description Spend no more than this, in all or in a day.
         */
        put: operations["setCap"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tags": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the tags of a node, tree or document; without a name, all tags of the grove */
        get: operations["listTags"];
        put?: never;
        /**
         * Tag target
         * @description Put a case-sensitive label on a node, tree or document.
         */
        post: operations["tagTarget"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tags/remove": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Untag
         * @description Take a label off.
         */
        post: operations["untag"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tokens/{token}/policy": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Set proxy policy
         * @description Set what the proxy does with a token's requests: record, strict or fit.
         */
        put: operations["setProxyPolicy"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tokens/{token}/revoke": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Revoke token
         * @description Revoke a token for good.
         */
        post: operations["revokeToken"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tool-urls": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Set url access
         * @description Set which addresses `readUrl` may read.
         */
        put: operations["setUrlAccess"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tools": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the tools of a turn */
        get: operations["listTools"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tools/{tool}/policy": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Set tool policy
         * @description Set the policy of a tool for the whole grove; None removes it.
         */
        put: operations["setToolPolicy"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tools/{tool}/run": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Run a tool
         * @description Nobody can be asked over HTTP: a tool with effects runs only where its policy is allow.
         */
        post: operations["runTool"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/trees": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List trees
         * @description The most recently changed first.
         */
        get: operations["listTrees"];
        put?: never;
        /** Plant a tree */
        post: operations["plantTree"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/trees/{tree}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read a tree */
        get: operations["readTree"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Describe
         * @description Change what is said about a tree; what is not given stays.
         */
        patch: operations["describe"];
        trace?: never;
    };
    "/api/trees/{tree}/archive": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Archive
         * @description Put a tree away; nothing is lost.
         */
        post: operations["archive"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/trees/{tree}/ask": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Ask a question and answer it with a runner
         * @description The question becomes a node, and the answer one below it.
         *
         *     If the client goes away, it stops; with `background` it goes on and belongs to the server.
         */
        post: operations["ask"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/trees/{tree}/bookmarks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read the bookmarked nodes of a tree */
        get: operations["readBookmarks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/trees/{tree}/branch-points": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read the branch points of a tree */
        get: operations["readBranchPoints"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/trees/{tree}/buffer": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read your uncommitted text in a tree */
        get: operations["readBuffer"];
        /**
         * Type text
         * @description Keep uncommitted text at the document's end, replacing what was there.
         */
        put: operations["typeText"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/trees/{tree}/collaborate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Let a collaborator work on something
         * @description A loom-aware agent answers in turns, with commands in between, which `turn` events tell.
         */
        post: operations["collaborate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/trees/{tree}/commit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Commit buffer
         * @description Make a node of the working buffer; nothing happens if it is empty.
         */
        post: operations["commitBuffer"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/trees/{tree}/compactions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show what a client's own compactions lost
         * @description Exact texts are compared: paths, ids, numbers and errors that the summary lacks.
         */
        get: operations["listCompactions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/trees/{tree}/cursor": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read your cursor in a tree */
        get: operations["readCursor"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/trees/{tree}/delete": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Delete tree
         * @description Destroy a tree and all that belongs to it, for good. Returns how many nodes went.
         *
         *         Images and recordings that no other tree points to go too.
         *
         *         `confirm` must be the tree's id.
         */
        post: operations["deleteTree"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/trees/{tree}/do": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Run commands in a tree
         * @description Commands as an agent writes them; a failure does not stop the rest.
         */
        post: operations["runCommands"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/trees/{tree}/drafts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List what you are typing in a tree */
        get: operations["listDrafts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/trees/{tree}/erase": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Erase
         * @description Delete a stretch of a buffer's document, from where the cursor's path begins, by editing each node.
         *
         *         Offsets count characters of the committed text from the root to the cursor.
         */
        post: operations["erase"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/trees/{tree}/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Export a tree
         * @description In Weft's own JSON (`weft`), or in a format of another program; as a stream.
         */
        get: operations["exportTree"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/trees/{tree}/generate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Generate continuations at your cursor
         * @description The generation goes on when the client leaves: follow it on /api/events, or read its text.
         */
        post: operations["generateAtCursor"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/trees/{tree}/grants": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List what agents may do in a tree without being asked */
        get: operations["listGrants"];
        /**
         * Grant
         * @description Let an agent use a tool, or have a permission, in one tree; with `allowed` false, no longer.
         *
         *         Only a person grants. A tool that a policy denies stays denied.
         */
        put: operations["grant"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/trees/{tree}/groups": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the collapsed ranges of a tree */
        get: operations["listFolds"];
        put?: never;
        /**
         * Collapse a range of a path
         * @description Contexts have a placeholder in its place; the tree keeps every node.
         */
        post: operations["foldRange"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/trees/{tree}/groups/expand": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Expand a collapsed range, or delete it */
        post: operations["expandRange"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/trees/{tree}/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read the latest operations in a tree */
        get: operations["readTreeHistory"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/trees/{tree}/leaves": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read the leaves of a tree */
        get: operations["readLeaves"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/trees/{tree}/media/{ref}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read an image or a recording of a tree
         * @description Only what nodes of the tree show.
         */
        get: operations["readMedia"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/trees/{tree}/merge": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Merge
         * @description A new node that comes from several: its edge has sources at two positions or more.
         */
        post: operations["merge"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/trees/{tree}/nodes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read nodes by their numbers */
        get: operations["readNodes"];
        put?: never;
        /**
         * Append
         * @description A new node under a node (at the cursor, if none is named).
         */
        post: operations["append"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/trees/{tree}/nodes/{node}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read a node */
        get: operations["readNode"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/trees/{tree}/nodes/{node}/annotate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Annotate
         * @description A note on a node; it stays out of contexts unless asked for.
         */
        post: operations["annotate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/trees/{tree}/nodes/{node}/annotations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read the annotations of a node */
        get: operations["readAnnotations"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/trees/{tree}/nodes/{node}/attach": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Attach
         * @description Hang an item on a node of the current turn.
         */
        post: operations["attach"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/trees/{tree}/nodes/{node}/authorship": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read who wrote which characters of a node */
        get: operations["readAuthorship"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/trees/{tree}/nodes/{node}/bookmark": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Bookmark
         * @description Mark a node, with a label if you like; a second time changes the label.
         */
        post: operations["bookmark"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/trees/{tree}/nodes/{node}/bundle": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Download everything needed to check a node elsewhere */
        get: operations["readBundle"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/trees/{tree}/nodes/{node}/children": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read the children of a node */
        get: operations["readChildren"];
        put?: never;
        /** Add a node below a node */
        post: operations["appendNode"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/trees/{tree}/nodes/{node}/context": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show what a model would see at a node */
        get: operations["readContext"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/trees/{tree}/nodes/{node}/context/diff": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Compare two requests
         * @description What the request would be, against that from another node or with other settings.
         */
        get: operations["compareContexts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/trees/{tree}/nodes/{node}/detach": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Detach
         * @description Take an item off a node of the current turn.
         */
        post: operations["detach"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/trees/{tree}/nodes/{node}/diff": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Compare two nodes */
        get: operations["compareNodes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/trees/{tree}/nodes/{node}/draft": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read what you are typing at a node */
        get: operations["readDraft"];
        /**
         * Keep what you are typing at a node
         * @description It is yours alone, and stays until it becomes a node by generate, by commit, or by saying it.
         */
        put: operations["keepDraft"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/trees/{tree}/nodes/{node}/draft/commit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Make a node of what you are typing
         * @description Make a node of what you are typing there.
         */
        post: operations["commitDraft"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/trees/{tree}/nodes/{node}/edit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Edit
         * @description A new text for a node: a branch in dialogue, a version in place in a buffer.
         *
         *         Author is who edits; the role stays the original's, so that a corrected answer
         *         remains an answer. Attachments and extra sources come along, unless others are given.
         */
        post: operations["edit"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/trees/{tree}/nodes/{node}/exclude": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Exclude
         * @description Leave a node out of contexts; it remains visible in the tree.
         */
        post: operations["exclude"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/trees/{tree}/nodes/{node}/generate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Generate continuations below a node
         * @description The generation goes on when the client leaves: follow it on /api/events, or read its text.
         */
        post: operations["generate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/trees/{tree}/nodes/{node}/include": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Include
         * @description Take a node into contexts again.
         */
        post: operations["include"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/trees/{tree}/nodes/{node}/join": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Join
         * @description A node and what follows it as one new node beside it; the original keeps its downstream.
         *
         *         What follows is the named continuation, else the one on the cursor's path, else the only one.
         */
        post: operations["join"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/trees/{tree}/nodes/{node}/path": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read the path to a node */
        get: operations["readPath"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/trees/{tree}/nodes/{node}/plan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Plan the request from a node with live settings
         * @description What the next request would be, without its texts: for settings that are tried out.
         */
        get: operations["planRequest"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/trees/{tree}/nodes/{node}/provenance": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read where a node comes from */
        get: operations["readProvenance"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/trees/{tree}/nodes/{node}/prune": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Prune
         * @description Hide a node and all below it; of several versions, only that version. Returns how many.
         */
        post: operations["prune"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/trees/{tree}/nodes/{node}/request": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read the request that a node answers, as it was sent */
        get: operations["readRequest"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/trees/{tree}/nodes/{node}/response": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read the response that a node came from, as it was received */
        get: operations["readResponse"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/trees/{tree}/nodes/{node}/restore": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Restore
         * @description Bring back exactly what one prune hid. Returns how many.
         */
        post: operations["restore"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/trees/{tree}/nodes/{node}/siblings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read the siblings of a node */
        get: operations["readSiblings"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/trees/{tree}/nodes/{node}/split": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Split
         * @description Two nodes beside the original, which keeps its downstream.
         *
         *         `at` is an offset, or a text that the second half begins with.
         */
        post: operations["split"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/trees/{tree}/nodes/{node}/tokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read the probabilities of a node's tokens */
        get: operations["readTokens"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/trees/{tree}/nodes/{node}/unbookmark": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Unbookmark
         * @description Take the mark off.
         */
        post: operations["unbookmark"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/trees/{tree}/nodes/{node}/versions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read the versions of a node */
        get: operations["readVersions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/trees/{tree}/open": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Open a tree at your cursor
         * @description The tree with its counters, your cursor, and the end of the path with its texts and surroundings.
         */
        get: operations["openTree"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/trees/{tree}/outline": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read the outline of a tree */
        get: operations["readOutline"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/trees/{tree}/preferences": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Prefer in tree
         * @description Set some of a tree's preferences, which override the grove's; None leaves it to the grove again.
         */
        patch: operations["preferInTree"];
        trace?: never;
    };
    "/api/trees/{tree}/presence": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read who is where in a tree */
        get: operations["readPresence"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/trees/{tree}/project": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Assign project
         * @description Let a tree belong to a project; without one, to none.
         */
        put: operations["assignProject"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/trees/{tree}/read": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read what you have read of a tree */
        get: operations["readReadMarks"];
        put?: never;
        /** Note what you have read */
        post: operations["markRead"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/trees/{tree}/redo": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Redo
         * @description Redo what the acting agent has undone since its last operation; all or none.
         */
        post: operations["redo"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/trees/{tree}/results/{number}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read a tool's result that was put aside */
        get: operations["readToolResult"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/trees/{tree}/skeleton": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read the shape of a tree */
        get: operations["readSkeleton"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/trees/{tree}/stats": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read what a tree's requests consisted of, and how much of them was cached */
        get: operations["readStatistics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/trees/{tree}/switch": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Switch
         * @description Move the acting agent's cursor, to a node or one step. Uncommitted text is committed first.
         */
        post: operations["switch"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/trees/{tree}/unarchive": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Unarchive
         * @description Take a tree out again.
         */
        post: operations["unarchive"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/trees/{tree}/undo": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Undo
         * @description Undo the acting agent's last operations in a tree, or in the grove itself; all or none.
         */
        post: operations["undo"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/undo": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Undo
         * @description Undo the acting agent's last operations in a tree, or in the grove itself; all or none.
         */
        post: operations["undoInGrove"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/users": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List users */
        get: operations["listUsers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/users/{user}/archive": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Archive user
         * @description Archive a user, or restore one. Tokens of an archived user are refused.
         */
        post: operations["archiveUser"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/users/{user}/role": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Set role
         * @description Give a user a role on the grove or on one tree; None takes it away.
         */
        put: operations["setRole"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/users/{user}/roles": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the roles of a user */
        get: operations["listRoles"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/users/{user}/tokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the tokens of a user, without their secrets */
        get: operations["listTokens"];
        put?: never;
        /** Make a token for a user */
        post: operations["addToken"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/vaults": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List mounted vaults */
        get: operations["listVaults"];
        put?: never;
        /**
         * Mount vault
         * @description Mount a folder: its notes can be attached, and are never written to.
         */
        post: operations["mountVault"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/vaults/{vault}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read how much of a vault is indexed, and what was skipped */
        get: operations["readVaultStatus"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/vaults/{vault}/unmount": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Unmount vault
         * @description Unmount a folder. What was attached from it stays attached.
         */
        post: operations["unmountVault"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/context/collapse/indexer/remove": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Remove a response's groups from the index
         * @description Only groups that no later response has indexed again.
         */
        post: operations["removeGroups"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/context/collapse/state/set": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Open or close a collapsed group
         * @description Recipes show the messages of an open group, and the placeholder of a closed one.
         */
        post: operations["setGroupState"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/context/topicContextYoj/run": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Run a recipe
         * @description The messages that a recipe makes from a user's records, or from a path of a tree.
         */
        post: operations["runRecipe"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/jobs/context/collapse/indexer/run": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Index collapsed groups
         * @description Index the given groups, or those of a response in the session's stream `collapsed`.
         */
        post: operations["indexGroups"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        Agent: {
            archivedAt: string | null;
            configuration: components["schemas"]["Configuration"];
            /** Format: date-time */
            createdAt: string;
            id: string;
            modelRef: string | null;
            name: string;
            permissions: ("loom_aware" | "loom_write" | "loom_generate" | "doc_read" | "doc_write")[];
            /** @enum {unknown} */
            type: "human" | "model";
        };
        Approval: {
            agent: string;
            agentId: string;
            arguments: {
                [key: string]: string | number | (number | null) | boolean | unknown[] | {
                    [key: string]: unknown;
                } | null;
            };
            /** Format: date-time */
            askedAt: string;
            decidedAt: string | null;
            decidedBy: string | null;
            description: string;
            /** Format: date-time */
            expiresAt: string;
            id: string;
            name: string;
            nodeId: string;
            run: string;
            /** @enum {unknown} */
            state: "pending" | "allowed" | "allowed_in_tree" | "denied" | "expired" | "interrupted";
            /** @enum {unknown} */
            subject: "tool" | "permission";
            treeId: string;
        };
        AuthorSpan: {
            authorId: string;
            end: number;
            start: number;
        };
        Citation: {
            end: number;
            number: number;
            source: string | null;
            start: number;
            title: string;
        };
        CollapsedRange: {
            description: string;
            expanded: boolean;
            first: string;
            id: string;
            last: string;
            name: string;
        };
        Configuration: {
            custom: {
                [key: string]: string | number | (number | null) | boolean | unknown[] | {
                    [key: string]: unknown;
                } | null;
            };
            maxTokens: number | null;
            stopSequences: string[];
            systemPrompt: string | null;
            temperature: (number | null) | null;
        };
        Content: {
            altText?: string;
            arguments?: unknown;
            blocks?: components["schemas"]["Content"][];
            callId?: string;
            content?: unknown;
            durationMs?: number;
            height?: number;
            id?: string;
            isError?: boolean;
            mimeType?: string;
            name?: string;
            opaque?: unknown;
            ref?: string;
            text?: string;
            transcript?: string;
            /** @enum {unknown} */
            type: "text" | "image" | "audio" | "tool_call" | "tool_result" | "thinking" | "mixed";
            width?: number;
        };
        Counters: {
            branches: number;
            depth: number;
            nodes: number;
        };
        Cursor: {
            agentId: string;
            nodeId: string;
            selections: {
                [key: string]: string;
            };
            treeId: string;
            /** Format: date-time */
            updatedAt: string;
        };
        Difference: {
            common: string;
            one: string;
            oneBeyond: number;
            other: string;
            otherBeyond: number;
            words: unknown[];
        };
        Document: {
            archivedAt: string | null;
            content: string;
            /** Format: date-time */
            createdAt: string;
            id: string;
            revision: number;
            summary: string | null;
            title: string;
            /** Format: date-time */
            updatedAt: string;
        };
        DraftText: {
            node: string;
            text: string;
            /** Format: date-time */
            updatedAt: string;
        };
        Edge: {
            sources: components["schemas"]["Source"][];
            target: string;
            /** @enum {unknown} */
            type: "continuation" | "annotation";
        };
        Error: {
            code: string;
            /** @description What went wrong. */
            error: string;
            got?: unknown;
            /** @description What to do. */
            hint?: string;
            limit?: number;
            /** @description The field that is wrong. */
            path?: string;
            retry?: string;
        };
        Event: {
            agentId: string;
            /** Format: date-time */
            createdAt: string;
            cursor: string;
            hash: string;
            kind: string;
            number: number;
            ordinal: number;
            payload: {
                [key: string]: string | number | (number | null) | boolean | unknown[] | {
                    [key: string]: unknown;
                } | null;
            };
            treeId: string | null;
        };
        Finding: {
            computed: string | null;
            id: string;
            input: string;
            kind: string;
            /** @enum {unknown} */
            problem: "differs" | "missing";
            stored: string | null;
            treeId: string | null;
        };
        HistoryEntry: {
            agentId: string;
            agentName: string;
            /** Format: date-time */
            createdAt: string;
            kind: string;
            nodes: string[];
            ordinal: number;
            payload: {
                [key: string]: string | number | (number | null) | boolean | unknown[] | {
                    [key: string]: unknown;
                } | null;
            };
            undone: boolean;
        };
        HistoryStep: {
            direction: string;
            event: number;
            kind: string;
            nodes: string[];
            ordinal: number;
            run: string | null;
            treeId: string | null;
        };
        Hit: {
            author: string | null;
            authorId: string | null;
            /** Format: date-time */
            createdAt: string;
            id: string;
            /** @enum {unknown} */
            kind: "node" | "tree" | "document" | "tag";
            localId: string | null;
            metadata: components["schemas"]["Metadata"] | null;
            rank: number | null;
            snippet: components["schemas"]["Snippet"];
            target: components["schemas"]["Target"];
            title: string;
            treeId: string | null;
        };
        Item: {
            content: string;
            created: string | null;
            id: string;
            images: components["schemas"]["Content"][];
            modified: string | null;
            pinned: boolean;
            recoverable: boolean;
            sha256: string;
            title: string | null;
            type: string;
        };
        Job: {
            attempts: number;
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            dueAt: string;
            error: string | null;
            id: number;
            kind: string;
            /** @enum {unknown} */
            status: "waiting" | "running" | "retrying" | "failed";
            target: number | null;
            treeId: string | null;
        };
        Link: {
            authorId: string;
            /** Format: date-time */
            createdAt: string;
            ends: components["schemas"]["Target"][];
            id: string;
            note: string;
        };
        Membership: {
            /** @enum {unknown} */
            role: "owner" | "editor" | "reader";
            treeId: string | null;
            userId: string;
        };
        Metadata: {
            bookmarked: boolean;
            bookmarkLabel: string | null;
            excluded: boolean;
            hidden: boolean;
            pruned: boolean;
        };
        Node: {
            attachments: components["schemas"]["Item"][];
            authorId: string;
            /** @enum {unknown} */
            authorType: "human" | "model";
            citations: components["schemas"]["Citation"][];
            content: components["schemas"]["Content"];
            contentHash: string;
            /** Format: date-time */
            createdAt: string;
            depth: number;
            edge: components["schemas"]["Edge"] | null;
            editedFrom: string | null;
            id: string;
            localId: string;
            metadata: components["schemas"]["Metadata"];
            /** @enum {unknown} */
            role: "user" | "assistant" | "system" | "tool";
            /** @enum {unknown} */
            status: "complete" | "interrupted";
            summary: string | null;
            treeId: string;
        };
        NodePlace: {
            annotations: number;
            children: number;
            depth: number;
            node: string;
            sibling: number;
            siblings: number;
        };
        OpenedTree: {
            cursor: components["schemas"]["Cursor"];
            draft: string;
            nodes: components["schemas"]["Node"][];
            places: components["schemas"]["NodePlace"][];
            tree: components["schemas"]["Tree"];
        };
        Project: {
            archivedAt: string | null;
            context: components["schemas"]["ProjectItem"][];
            /** Format: date-time */
            createdAt: string;
            id: string;
            name: string;
            revision: number;
            systemPrompt: string;
        };
        ProjectItem: {
            /** @enum {unknown} */
            kind: "document" | "folder" | "url";
            reference: string;
        };
        Provenance: {
            author: string;
            /** @enum {unknown} */
            authorType: "human" | "model";
            callNote: string | null;
            /** @enum {unknown} */
            chain: "valid" | "invalid" | "incomplete";
            citations: components["schemas"]["Citation"][];
            contentHash: string;
            /** Format: date-time */
            createdAt: string;
            editedFrom: string | null;
            latencyMs: (number | null) | null;
            localId: string;
            model: string | null;
            nodeId: string;
            provider: string | null;
            replacedKeys: number[];
            report: components["schemas"]["Report"];
            requestedAt: string | null;
            requestId: string | null;
            requestSha256: string | null;
            respondedAt: string | null;
            responseSha256: string | null;
            sources: components["schemas"]["SourceHash"][];
            statusCode: number | null;
            timestamps: components["schemas"]["Stamp"][];
            treeId: string;
            usage: components["schemas"]["Usage"] | null;
        };
        Report: {
            blobs: number;
            bodies: number;
            events: number;
            findings: components["schemas"]["Finding"][];
            more: number;
            nodes: number;
            scope: string;
            timestamps: number;
            unchecked: string[];
            /** @enum {unknown} */
            verdict: "valid" | "invalid" | "incomplete";
        };
        Revision: {
            authorId: string;
            characters: number;
            /** Format: date-time */
            createdAt: string;
            documentId: string;
            revision: number;
            title: string;
        };
        Skeleton: {
            agents: string[];
            authors: string;
            flags: string;
            ids: string;
            kinds: string;
            nodes: number;
            numbers: string;
            parents: string;
            positions: string;
            revision: number;
        };
        Snippet: {
            highlights: number[][];
            text: string;
        };
        Source: {
            node: string;
            /** @enum {unknown} */
            role: "primary" | "context" | "instruction";
        };
        SourceHash: {
            contentHash: string;
            id: string;
            role: string;
        };
        Stamp: {
            attempts: number;
            authority: string;
            certifiedAt: string | null;
            error: string | null;
            id: string;
            /** @enum {unknown} */
            status: "pending" | "certified" | "unavailable";
            target: string;
        };
        Tag: {
            label: string;
            target: components["schemas"]["Target"];
        };
        Target: {
            id: string;
            /** @enum {unknown} */
            kind: "node" | "tree" | "document";
        };
        Token: {
            /** Format: date-time */
            createdAt: string;
            expiresAt: string | null;
            id: string;
            label: string;
            revokedAt: string | null;
            service: boolean;
            usedAt: string | null;
            userId: string;
        };
        TokenPolicy: {
            /** @enum {unknown} */
            mode: "record" | "strict" | "fit";
            window: number | null;
        };
        Tree: {
            archivedAt: string | null;
            bufferModeSystemContext: boolean;
            counters: components["schemas"]["Counters"];
            /** Format: date-time */
            createdAt: string;
            description: string;
            id: string;
            /** @enum {unknown} */
            mode: "dialogue" | "buffer";
            preferences: {
                [key: string]: string | number | (number | null) | boolean | unknown[] | {
                    [key: string]: unknown;
                } | null;
            };
            project: string | null;
            root: string;
            summary: string | null;
            systemContext: string;
            title: string;
            /** Format: date-time */
            updatedAt: string;
        };
        TreeGrants: {
            agent: string;
            agentId: string;
            permissions: string[];
            tools: string[];
        };
        Usage: {
            cachedRead: number | null;
            cachedWrite: number | null;
            completion: number | null;
            prompt: number | null;
            total: number | null;
        };
        User: {
            agentId: string;
            archivedAt: string | null;
            /** Format: date-time */
            createdAt: string;
            id: string;
            name: string;
        };
        Vault: {
            /** Format: date-time */
            createdAt: string;
            id: string;
            name: string;
            path: string;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    listAgents: {
        parameters: {
            query?: {
                /** @description Include what is archived. */
                archived?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        agents: components["schemas"]["Agent"][];
                    };
                };
            };
        };
    };
    addAgent: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "Ada",
                 *       "type": "human"
                 *     }
                 */
                "application/json": {
                    configuration?: {
                        custom?: Record<string, never>;
                        maxTokens?: number | null;
                        stopSequences?: string[];
                        systemPrompt?: string | null;
                        temperature?: number | null;
                    };
                    modelRef?: string | null;
                    name: string;
                    permissions?: string[] | null;
                    /** @enum {unknown} */
                    type: "human" | "model";
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Agent"];
                };
            };
        };
    };
    readAgent: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                agent: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Agent"];
                };
            };
        };
    };
    changeAgent: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                agent: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    configuration?: {
                        custom?: Record<string, never>;
                        maxTokens?: number | null;
                        stopSequences?: string[];
                        systemPrompt?: string | null;
                        temperature?: number | null;
                    } | null;
                    modelRef?: string | null;
                    name?: string | null;
                    permissions?: string[] | null;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Agent"];
                };
            };
        };
    };
    archiveAgent: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                agent: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    restore?: boolean;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Agent"];
                };
            };
        };
    };
    listApprovals: {
        parameters: {
            query?: {
                /** @description Include those that were decided in the last day. */
                decided?: boolean;
                /** @description Only in this tree. */
                tree?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        approvals: unknown[];
                    };
                };
            };
        };
    };
    readApproval: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                approval: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        id: string;
                    };
                };
            };
        };
    };
    allowApproval: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                approval: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    inTree?: boolean;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Approval"];
                };
            };
        };
    };
    denyApproval: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                approval: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": Record<string, never>;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Approval"];
                };
            };
        };
    };
    stopAttempt: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                attempt: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": Record<string, never>;
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        attempts: {
                            /** @description Id of the agent that answers. */
                            agent: string;
                            choice: number;
                            cost: string | null;
                            error: {
                                code: string;
                                error: string;
                                hint?: string;
                                retry?: string;
                            } | null;
                            /** @description The attempt's; the choices of one call share it. */
                            id: string;
                            model: string;
                            /** @description Its name. */
                            name: string;
                            node: string | null;
                            /** @description Characters of its text that have come. */
                            offset: number;
                            /** @description The node that is continued. */
                            parent: string;
                            run: string;
                            /** @enum {unknown} */
                            status: "running" | "complete" | "interrupted" | "failed";
                            tree: string;
                            usage: {
                                cachedRead?: number | null;
                                cachedWrite?: number | null;
                                completion?: number | null;
                                prompt?: number | null;
                                total?: number | null;
                            } | null;
                        }[];
                        endedAt: string | null;
                        error: {
                            code: string;
                            error: string;
                            hint?: string;
                            retry?: string;
                        } | null;
                        id: string;
                        /** @enum {unknown} */
                        kind: "generation" | "ask" | "collaboration";
                        /** @description The node that is answered. */
                        node: string;
                        note: string | null;
                        startedAt: string;
                        /** @enum {unknown} */
                        status: "running" | "complete" | "stopped" | "failed";
                        stopping: boolean;
                        tree: string;
                    };
                };
            };
        };
    };
    readAttemptText: {
        parameters: {
            query?: {
                /** @description Of this choice of the call. */
                choice?: number;
                /** @description text or thinking. */
                kind?: string;
                /** @description From this character on. */
                offset?: number;
            };
            header?: never;
            path: {
                attempt: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        attempt: string;
                        choice: number;
                        end: number;
                        /** @enum {unknown} */
                        kind: "text" | "thinking";
                        node: string | null;
                        offset: number;
                        /** @enum {unknown} */
                        status: "running" | "complete" | "interrupted" | "failed";
                        text: string;
                    };
                };
            };
        };
    };
    calibrate: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    model: string;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
        };
    };
    readDefaultAgent: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        agent: string | null;
                    };
                };
            };
        };
    };
    chooseDefaultAgent: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description An agent's name or id; default: the one that was added last. */
                    agent?: string;
                };
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        agent: string | null;
                    };
                };
            };
        };
    };
    listDocuments: {
        parameters: {
            query?: {
                /** @description Include what is archived. */
                archived?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        documents: components["schemas"]["Document"][];
                    };
                };
            };
        };
    };
    createDocument: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "title": "Harbour notes"
                 *     }
                 */
                "application/json": {
                    content?: string;
                    title: string;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Document"];
                };
            };
        };
    };
    readDocument: {
        parameters: {
            query?: {
                /** @description The revision; default: the latest. */
                revision?: number;
            };
            header?: never;
            path: {
                document: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Document"];
                };
            };
        };
    };
    saveDocument: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                document: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "revision": 1,
                 *       "content": "Fog."
                 *     }
                 */
                "application/json": {
                    content?: string | null;
                    revision: number;
                    title?: string | null;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Document"];
                };
            };
        };
    };
    archiveDocument: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                document: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    restore?: boolean;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Document"];
                };
            };
        };
    };
    deleteDocument: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                document: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    confirm: string;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
        };
    };
    listRevisions: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                document: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        revisions: components["schemas"]["Revision"][];
                    };
                };
            };
        };
    };
    addEndpoint: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "lab",
                 *       "url": "https://lab.example/v1"
                 *     }
                 */
                "application/json": {
                    key?: string;
                    name: string;
                    private?: boolean;
                    url: string;
                };
            };
        };
        responses: {
            /** @description It. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        name: string;
                        url: string;
                    };
                };
            };
        };
    };
    removeEndpoint: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description An endpoint's name. */
                endpoint: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Nothing. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
        };
    };
    followEvents: {
        parameters: {
            query?: {
                /** @description Start after this cursor, or `now`; default: with the first event. */
                after?: string;
                /** @description Only of these trees. */
                tree?: string[];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Server-sent events. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": unknown;
                };
            };
        };
    };
    health: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The server runs. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        ok: boolean;
                        version: string;
                    };
                };
            };
        };
    };
    readHistory: {
        parameters: {
            query?: {
                /** @description Only what this agent did. */
                agent?: string;
                /** @description Only before this event. */
                before?: number;
                /** @description How many operations, at most. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        entries: components["schemas"]["HistoryEntry"][];
                    };
                };
            };
        };
    };
    listImports: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Imports, the latest first. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        imports: unknown[];
                    };
                };
            };
        };
    };
    startImport: {
        parameters: {
            query?: {
                /** @description Report what would be imported; write nothing. */
                dryRun?: boolean;
                /** @description The program it comes from; default: by its content. */
                format?: string;
                /** @description The file's name, for the report. */
                name?: string;
                /** @description Import nothing if one conversation cannot be read. */
                strict?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/octet-stream": string;
                "multipart/form-data": {
                    /** Format: binary */
                    file?: string;
                };
            };
        };
        responses: {
            /** @description How far it is, and its report. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        bytes: number;
                        changedTrees: number;
                        done: number;
                        dryRun: boolean;
                        formats: unknown[];
                        id: string;
                        imported: number;
                        kept: unknown[];
                        keys: unknown[];
                        keysFound: number;
                        largest: unknown[];
                        latest: unknown[];
                        lost: unknown[];
                        name: string;
                        newNodes: number;
                        newTrees: number;
                        nodes: number;
                        refused: number;
                        refusedConversations: unknown[];
                        status: string;
                        strict: boolean;
                        total: number;
                        unchangedTrees: number;
                    };
                };
            };
        };
    };
    readImport: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The import's id. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description How far it is, and its report. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        bytes: number;
                        changedTrees: number;
                        done: number;
                        dryRun: boolean;
                        formats: unknown[];
                        id: string;
                        imported: number;
                        kept: unknown[];
                        keys: unknown[];
                        keysFound: number;
                        largest: unknown[];
                        latest: unknown[];
                        lost: unknown[];
                        name: string;
                        newNodes: number;
                        newTrees: number;
                        nodes: number;
                        refused: number;
                        refusedConversations: unknown[];
                        status: string;
                        strict: boolean;
                        total: number;
                        unchangedTrees: number;
                    };
                };
            };
        };
    };
    listImportedConversations: {
        parameters: {
            query?: {
                /** @description How many conversations to pass over. */
                first?: number;
                /** @description How many conversations, at most. */
                limit?: number;
            };
            header?: never;
            path: {
                /** @description The import's id. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What became of each, in the order of the file. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        conversations: unknown[];
                    };
                };
            };
        };
    };
    stopImport: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The import's id. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It stops after the conversation being written. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        bytes: number;
                        changedTrees: number;
                        done: number;
                        dryRun: boolean;
                        formats: unknown[];
                        id: string;
                        imported: number;
                        kept: unknown[];
                        keys: unknown[];
                        keysFound: number;
                        largest: unknown[];
                        latest: unknown[];
                        lost: unknown[];
                        name: string;
                        newNodes: number;
                        newTrees: number;
                        nodes: number;
                        refused: number;
                        refusedConversations: unknown[];
                        status: string;
                        strict: boolean;
                        total: number;
                        unchangedTrees: number;
                    };
                };
            };
        };
    };
    listJobs: {
        parameters: {
            query?: {
                /** @description Only of this kind. */
                kind?: string;
                /** @description How many, at most. */
                limit?: number;
                /** @description waiting, running, retrying or failed. */
                status?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        jobs: components["schemas"]["Job"][];
                    };
                };
            };
        };
    };
    cancelJob: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                job: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": Record<string, never>;
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        cancelled: boolean;
                    };
                };
            };
        };
    };
    retryJob: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                job: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": Record<string, never>;
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Job"];
                };
            };
        };
    };
    listLinks: {
        parameters: {
            query?: {
                /** @description node, tree or document. */
                kind?: string;
                /** @description Its id or title. */
                name?: string;
                /** @description The tree of a node. */
                tree?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        links: components["schemas"]["Link"][];
                    };
                };
            };
        };
    };
    linkTogether: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    note?: string;
                    one: {
                        /** @enum {unknown} */
                        kind: "node" | "tree" | "document";
                        name: string;
                        tree?: string | null;
                    };
                    other: {
                        /** @enum {unknown} */
                        kind: "node" | "tree" | "document";
                        name: string;
                        tree?: string | null;
                    };
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Link"];
                };
            };
        };
    };
    unlink: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    one: {
                        /** @enum {unknown} */
                        kind: "node" | "tree" | "document";
                        name: string;
                        tree?: string | null;
                    };
                    other: {
                        /** @enum {unknown} */
                        kind: "node" | "tree" | "document";
                        name: string;
                        tree?: string | null;
                    };
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
        };
    };
    readMe: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Agent"];
                };
            };
        };
    };
    uploadMedia: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/octet-stream": string;
            };
        };
        responses: {
            /** @description The ref of what is stored. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        bytes: number;
                        ref: string;
                    };
                };
            };
        };
    };
    listModels: {
        parameters: {
            query?: {
                /** @description Ask the providers, not the saved lists. */
                fresh?: boolean;
                /** @description Only this provider's; default: all. */
                provider?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        models: {
                            name: string;
                            profile: Record<string, never>;
                            provider: string;
                            title: string | null;
                        }[];
                        providers: {
                            key: boolean;
                            listedAt?: string | null;
                            name: string;
                            origin: string;
                            problem?: string | null;
                            stale: boolean;
                        }[];
                    };
                };
            };
        };
    };
    searchNotes: {
        parameters: {
            query?: {
                /** @description How many passages, at most. */
                limit?: number;
                /** @description The question, or words of it. */
                query?: string;
                /** @description Only in this vault. */
                vault?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        passages: unknown[];
                        semantic: boolean;
                        warnings: unknown[];
                    };
                };
            };
        };
    };
    readPreferences: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        preferences: Record<string, never>;
                    };
                };
            };
        };
    };
    prefer: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "settings": {
                 *         "truncationStep": 0
                 *       }
                 *     }
                 */
                "application/json": {
                    settings: Record<string, never>;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
        };
    };
    listProjects: {
        parameters: {
            query?: {
                /** @description Include what is archived. */
                archived?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        projects: components["schemas"]["Project"][];
                    };
                };
            };
        };
    };
    createProject: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "Harbour"
                 *     }
                 */
                "application/json": {
                    context?: {
                        /** @enum {unknown} */
                        kind: "document" | "folder" | "url";
                        reference: string;
                    }[];
                    name: string;
                    systemPrompt?: string;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Project"];
                };
            };
        };
    };
    readProject: {
        parameters: {
            query?: {
                /** @description The revision; default: the latest. */
                revision?: number;
            };
            header?: never;
            path: {
                project: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Project"];
                };
            };
        };
    };
    changeProject: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                project: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    context?: {
                        /** @enum {unknown} */
                        kind: "document" | "folder" | "url";
                        reference: string;
                    }[] | null;
                    name?: string | null;
                    revision: number;
                    systemPrompt?: string | null;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Project"];
                };
            };
        };
    };
    archiveProject: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                project: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    restore?: boolean;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Project"];
                };
            };
        };
    };
    listProviders: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Names, addresses and places of keys; no key. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        endpoints: unknown[];
                        providers: unknown[];
                    };
                };
            };
        };
    };
    setKey: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A provider's name. */
                provider: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "key": "…"
                 *     }
                 */
                "application/json": {
                    key: string;
                };
            };
        };
        responses: {
            /** @description Where it is kept. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        place: string;
                        where: string;
                    };
                };
            };
        };
    };
    removeKey: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A provider's name. */
                provider: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Nothing. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
        };
    };
    readProxy: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Figures of the last day, the policy of each token, and what could not be recorded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        day: Record<string, never>;
                        notRecorded: unknown[];
                        tokens: unknown[];
                    };
                };
            };
        };
    };
    listProxySessions: {
        parameters: {
            query?: {
                /** @description Only sessions with a lower number: the next page. */
                before?: number;
                /** @description How many sessions, at most. */
                limit?: number;
                /** @description Only sessions in this tree. */
                tree?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The newest first. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        sessions: unknown[];
                    };
                };
            };
        };
    };
    readProxySession: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A session's number. */
                session: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The session. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        client: string;
                        id: number;
                    };
                };
            };
        };
    };
    listProxyRequests: {
        parameters: {
            query?: {
                /** @description Only requests with a higher number: the next page. */
                after?: number;
                /** @description How many requests, at most. */
                limit?: number;
            };
            header?: never;
            path: {
                /** @description A session's number. */
                session: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description In order. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        requests: unknown[];
                    };
                };
            };
        };
    };
    explainRecipe: {
        parameters: {
            query?: {
                /** @description For service tokens: the user of the records. */
                userId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "kala": {
                 *         "kind": "SegKala",
                 *         "sessionId": "s1",
                 *         "end": 1700000000,
                 *         "windowSeconds": 3600
                 *       },
                 *       "presetId": "TopicContext"
                 *     }
                 */
                "application/json": {
                    includeDocId?: boolean;
                    kala: {
                        begin?: number;
                        end?: number;
                        kind: string;
                        nodeId?: string;
                        sessionEnd?: number;
                        sessionId?: string;
                        topicId?: string;
                        treeId?: string;
                        weekEnd?: number;
                        windowSeconds?: number;
                    };
                    model?: {
                        components?: {
                            children?: Record<string, never>[];
                            framing?: string;
                            /** @enum {unknown} */
                            kind: "yoj" | "ista" | "literal";
                            name?: string;
                            value?: string;
                        }[];
                        filters?: (string | {
                            name: string;
                            options?: Record<string, never>;
                        })[];
                        intro?: {
                            system?: string;
                        };
                        promoteUpstream?: boolean;
                    };
                    /** @enum {unknown} */
                    onFilterError?: "fail" | "skip";
                    presetId?: string;
                    projectId?: string;
                    /** @description For service tokens: the user of the records. */
                    userId?: string;
                };
            };
        };
        responses: {
            /** @description The messages, the manifest and the steps. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        manifest: Record<string, never>;
                        messages: unknown[];
                        steps: unknown[];
                    };
                };
            };
        };
    };
    listRecords: {
        parameters: {
            query: {
                /** @description Continue after the record with this id. */
                after?: string;
                /** @description Only after this time, in seconds since 1970. */
                begin?: number;
                /** @description Only up to and including this time. */
                end?: number;
                /** @description If there are none: list the user's without project, else those without user, as recipes do. */
                fallback?: boolean;
                /** @description How many records, at most. */
                limit?: number;
                /** @description The stream. */
                name: string;
                /** @description List the newest first. */
                newest?: boolean;
                /** @description The project. */
                projectId?: string;
                /** @description The session. */
                sessionId?: string;
                /** @description The topic. */
                topicId?: string;
                /** @description The user; without one, what belongs to no user. */
                userId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The records, the oldest first. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        records: unknown[];
                    };
                };
            };
        };
    };
    appendRecords: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "records": [
                 *         {
                 *           "name": "messages",
                 *           "sessionId": "s1",
                 *           "value": {
                 *             "role": "user",
                 *             "content": "Can we cross?"
                 *           }
                 *         }
                 *       ]
                 *     }
                 */
                "application/json": {
                    records: {
                        cost?: unknown;
                        /** @description Seconds since 1970. */
                        createTime?: number;
                        /** @description The whole document, if it is more than the value. */
                        document?: Record<string, never>;
                        execId?: unknown;
                        id?: string;
                        /** @description The stream. */
                        name: string;
                        projectId?: string;
                        sessionId?: string;
                        topicId?: string;
                        /** @description For service tokens. */
                        userId?: string;
                        /** @description Any JSON value; a message, for `messages`. */
                        value: unknown;
                    }[];
                    /** @description For service tokens: the user of the records. */
                    userId?: string;
                };
            };
        };
        responses: {
            /** @description The stored records. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        records: unknown[];
                    };
                };
            };
        };
    };
    listStreams: {
        parameters: {
            query?: {
                /** @description The session. */
                sessionId?: string;
                /** @description The topic. */
                topicId?: string;
                /** @description The user; without one, what belongs to no user. */
                userId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The streams. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        streams: unknown[];
                    };
                };
            };
        };
    };
    redoInGrove: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    steps?: number;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        steps: components["schemas"]["HistoryStep"][];
                    };
                };
            };
        };
    };
    listRuns: {
        parameters: {
            query?: {
                /** @description Only of this tree. */
                tree?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        runs: {
                            attempts: {
                                /** @description Id of the agent that answers. */
                                agent: string;
                                choice: number;
                                cost: string | null;
                                error: {
                                    code: string;
                                    error: string;
                                    hint?: string;
                                    retry?: string;
                                } | null;
                                /** @description The attempt's; the choices of one call share it. */
                                id: string;
                                model: string;
                                /** @description Its name. */
                                name: string;
                                node: string | null;
                                /** @description Characters of its text that have come. */
                                offset: number;
                                /** @description The node that is continued. */
                                parent: string;
                                run: string;
                                /** @enum {unknown} */
                                status: "running" | "complete" | "interrupted" | "failed";
                                tree: string;
                                usage: {
                                    cachedRead?: number | null;
                                    cachedWrite?: number | null;
                                    completion?: number | null;
                                    prompt?: number | null;
                                    total?: number | null;
                                } | null;
                            }[];
                            endedAt: string | null;
                            error: {
                                code: string;
                                error: string;
                                hint?: string;
                                retry?: string;
                            } | null;
                            id: string;
                            /** @enum {unknown} */
                            kind: "generation" | "ask" | "collaboration";
                            /** @description The node that is answered. */
                            node: string;
                            note: string | null;
                            startedAt: string;
                            /** @enum {unknown} */
                            status: "running" | "complete" | "stopped" | "failed";
                            stopping: boolean;
                            tree: string;
                        }[];
                    };
                };
            };
        };
    };
    readRun: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                run: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        attempts: {
                            /** @description Id of the agent that answers. */
                            agent: string;
                            choice: number;
                            cost: string | null;
                            error: {
                                code: string;
                                error: string;
                                hint?: string;
                                retry?: string;
                            } | null;
                            /** @description The attempt's; the choices of one call share it. */
                            id: string;
                            model: string;
                            /** @description Its name. */
                            name: string;
                            node: string | null;
                            /** @description Characters of its text that have come. */
                            offset: number;
                            /** @description The node that is continued. */
                            parent: string;
                            run: string;
                            /** @enum {unknown} */
                            status: "running" | "complete" | "interrupted" | "failed";
                            tree: string;
                            usage: {
                                cachedRead?: number | null;
                                cachedWrite?: number | null;
                                completion?: number | null;
                                prompt?: number | null;
                                total?: number | null;
                            } | null;
                        }[];
                        endedAt: string | null;
                        error: {
                            code: string;
                            error: string;
                            hint?: string;
                            retry?: string;
                        } | null;
                        id: string;
                        /** @enum {unknown} */
                        kind: "generation" | "ask" | "collaboration";
                        /** @description The node that is answered. */
                        node: string;
                        note: string | null;
                        startedAt: string;
                        /** @enum {unknown} */
                        status: "running" | "complete" | "stopped" | "failed";
                        stopping: boolean;
                        tree: string;
                    };
                };
            };
        };
    };
    readRunSteps: {
        parameters: {
            query?: {
                /** @description Only after this step. */
                after?: number;
                /** @description How many steps, at most. */
                limit?: number;
            };
            header?: never;
            path: {
                run: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        steps: {
                            body: Record<string, never>;
                            kind: string;
                            run: string;
                            step: number;
                            tree: string;
                            turn: number;
                        }[];
                    };
                };
            };
        };
    };
    stopRun: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                run: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": Record<string, never>;
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        attempts: {
                            /** @description Id of the agent that answers. */
                            agent: string;
                            choice: number;
                            cost: string | null;
                            error: {
                                code: string;
                                error: string;
                                hint?: string;
                                retry?: string;
                            } | null;
                            /** @description The attempt's; the choices of one call share it. */
                            id: string;
                            model: string;
                            /** @description Its name. */
                            name: string;
                            node: string | null;
                            /** @description Characters of its text that have come. */
                            offset: number;
                            /** @description The node that is continued. */
                            parent: string;
                            run: string;
                            /** @enum {unknown} */
                            status: "running" | "complete" | "interrupted" | "failed";
                            tree: string;
                            usage: {
                                cachedRead?: number | null;
                                cachedWrite?: number | null;
                                completion?: number | null;
                                prompt?: number | null;
                                total?: number | null;
                            } | null;
                        }[];
                        endedAt: string | null;
                        error: {
                            code: string;
                            error: string;
                            hint?: string;
                            retry?: string;
                        } | null;
                        id: string;
                        /** @enum {unknown} */
                        kind: "generation" | "ask" | "collaboration";
                        /** @description The node that is answered. */
                        node: string;
                        note: string | null;
                        startedAt: string;
                        /** @enum {unknown} */
                        status: "running" | "complete" | "stopped" | "failed";
                        stopping: boolean;
                        tree: string;
                    };
                };
            };
        };
    };
    plantSample: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The sample tree: the one that is there, or a new one. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        id: string;
                        title: string;
                    };
                };
            };
        };
    };
    search: {
        parameters: {
            query: {
                /** @description Only since this day or time, in ISO 8601 (UTC). */
                after?: string;
                /** @description Only what this agent wrote. */
                author?: string;
                /** @description Only what people, or models, wrote. */
                authorType?: string;
                /** @description Only before this day or time. */
                before?: string;
                /** @description Only bookmarked nodes. */
                bookmarked?: boolean;
                /** @description Include what is excluded, pruned, undone or archived. */
                everything?: boolean;
                /** @description Only these: node, tree, document, tag. */
                kinds?: string | string[];
                /** @description How many results, at most. */
                limit?: number;
                /** @description Only in trees of this mode: dialogue or buffer. */
                mode?: string;
                /** @description Only what agents of this model wrote. */
                model?: string;
                /** @description How many results to skip; to skip more, narrow the search. */
                offset?: number;
                /** @description Words that must all occur; "a phrase", a prefix*, one or another, -not. */
                query: string;
                /** @description Only in this tree. */
                tree?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        complete: boolean;
                        hits: components["schemas"]["Hit"][];
                    };
                };
            };
        };
    };
    readSession: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Who is signed in. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        owner: boolean;
                    };
                };
            };
        };
    };
    signIn: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "token": "weft_…"
                 *     }
                 */
                "application/json": {
                    token: string;
                };
            };
        };
        responses: {
            /** @description Who is signed in; the cookie is set. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        owner: boolean;
                    };
                };
            };
        };
    };
    signOut: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The cookie is not accepted any more. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
        };
    };
    readSpending: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        caps: {
                            dollars: string;
                            period: string;
                            whose: string;
                        }[];
                        today: string;
                        total: string;
                    };
                };
            };
        };
    };
    setCap: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "whose": "grove",
                 *       "period": "day",
                 *       "dollars": "2.50"
                 *     }
                 */
                "application/json": {
                    /** @description For example 0.50; null removes the cap. */
                    dollars?: string;
                    /** @description total, or day (UTC). */
                    period?: string;
                    /** @description grove, tree:ID or agent:ID. */
                    whose?: string;
                };
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        caps: {
                            dollars: string;
                            period: string;
                            whose: string;
                        }[];
                        today: string;
                        total: string;
                    };
                };
            };
        };
    };
    listTags: {
        parameters: {
            query?: {
                /** @description node, tree or document. */
                kind?: string;
                /** @description Its id or title. */
                name?: string;
                /** @description The tree of a node. */
                tree?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        tags: components["schemas"]["Tag"][];
                    };
                };
            };
        };
    };
    tagTarget: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    label: string;
                    target: {
                        /** @enum {unknown} */
                        kind: "node" | "tree" | "document";
                        name: string;
                        tree?: string | null;
                    };
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Tag"];
                };
            };
        };
    };
    untag: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    label: string;
                    target: {
                        /** @enum {unknown} */
                        kind: "node" | "tree" | "document";
                        name: string;
                        tree?: string | null;
                    };
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
        };
    };
    setProxyPolicy: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                token: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "policy": "fit"
                 *     }
                 */
                "application/json": {
                    policy: string;
                    window?: number | null;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TokenPolicy"];
                };
            };
        };
    };
    revokeToken: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                token: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": Record<string, never>;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
        };
    };
    setUrlAccess: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "urls": "public"
                 *     }
                 */
                "application/json": {
                    /** @enum {unknown} */
                    urls: "off" | "public" | "private";
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
        };
    };
    listTools: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        tools: unknown[];
                    };
                };
            };
        };
    };
    setToolPolicy: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                tool: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "policy": "deny"
                 *     }
                 */
                "application/json": {
                    policy: ("allow" | "ask" | "deny") | null;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
        };
    };
    runTool: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A tool's name. */
                tool: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "arguments": {
                 *         "query": "the lamp"
                 *       }
                 *     }
                 */
                "application/json": {
                    /** @description As the tool's schema says. */
                    arguments?: Record<string, never>;
                    /** @description The turn that it runs for: what is on its path is not found again, a large result is put aside. */
                    at?: string;
                };
            };
        };
        responses: {
            /** @description Its output. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        attributes: Record<string, never>;
                        content: string;
                        name: string;
                        rendered: string;
                        sources: unknown[];
                    };
                };
            };
        };
    };
    listTrees: {
        parameters: {
            query?: {
                /** @description Include archived trees. */
                archived?: boolean;
                /** @description How many trees, at most. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The trees. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        trees: components["schemas"]["Tree"][];
                    };
                };
            };
        };
    };
    plantTree: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "title": "Marie",
                 *       "text": "Why does she hesitate?"
                 *     }
                 */
                "application/json": {
                    description?: string;
                    /** @enum {unknown} */
                    mode?: "dialogue" | "buffer";
                    systemContext?: string;
                    text?: string;
                    title?: string;
                };
            };
        };
        responses: {
            /** @description The tree. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Tree"];
                };
            };
        };
    };
    readTree: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                tree: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Tree"];
                };
            };
        };
    };
    describe: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                tree: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "title": "Marie"
                 *     }
                 */
                "application/json": {
                    bufferModeSystemContext?: boolean | null;
                    description?: string | null;
                    preferences?: Record<string, never> | null;
                    systemContext?: string | null;
                    title?: string | null;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Tree"];
                };
            };
        };
    };
    archive: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                tree: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": Record<string, never>;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
        };
    };
    ask: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A tree's id. */
                tree: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "text": "Why does she hesitate?",
                 *       "runner": "chat"
                 *     }
                 */
                "application/json": {
                    /** @description The agent that answers; default: the default agent. */
                    agent?: string;
                    /** @description How long it waits for a person's approval on any face, for a tool with effects or a missing permission; default: refused where the caller cannot ask a person, and over HTTP two minutes. */
                    approvalSeconds?: number;
                    /** @description Items of the question: notes, pages, documents, nodes. */
                    attachments?: string[];
                    /** @description Answer at once with the run (202), which goes on by itself. */
                    background?: boolean;
                    /** @description Instructions for the form of the answer, given once before the question. */
                    composer?: string;
                    /** @description What this run may cost; the grove's spend caps hold as well. */
                    dollars?: number | string;
                    /** @description What counts tokens: an estimator, a function, or a name. */
                    estimator?: string;
                    /** @description Repeating the key returns the first answer; the question is said once. */
                    idempotencyKey?: string;
                    /** @description The budget in tokens; default: what the model's window leaves. */
                    limit?: number;
                    /** @description The longest answer, in tokens: the part of the window that is reserved for it. */
                    maxTokens?: number;
                    /** @description The model that answers, as provider:model; an agent is added for it where there is none. */
                    model?: string;
                    /** @description The node to continue from; default: the current one. */
                    node?: string;
                    /** @description What picks tools: auto, model or rules; auto is the model where its profile has tools. */
                    planner?: string;
                    /** @description Settings by name, for this call only. */
                    preferences?: Record<string, never>;
                    /** @description Log the request in layers, as it is sent. */
                    recordPayload?: boolean;
                    /** @description Go on where an agent was interrupted; without a text. */
                    resume?: boolean;
                    /** @description How the turn is run: chat, vault, tools, agent or project; default: chat, with vaults vault. */
                    runner?: string;
                    /** @description How long it may take. */
                    seconds?: number;
                    /** @description Makes sampling repeatable, where the provider can. */
                    seed?: number;
                    /** @description Answer with server-sent events. */
                    stream?: boolean;
                    /** @description The sampling temperature. */
                    temperature?: number;
                    /** @description The question; default: the current node is answered. */
                    text?: string;
                    /** @description Seconds without a word after which the call fails. */
                    timeout?: number;
                    /** @description Tokens of its answers and of its commands' results, together. */
                    tokens?: number;
                    /** @description Only these tools may be used; default: all that are on. */
                    toolNames?: string[];
                    /** @description How often the model may answer. */
                    turns?: number;
                    /** @description In a loop without a person: a paid model then needs a spend cap. */
                    unattended?: boolean;
                    /** @description Only these vaults are looked into; default: all that are mounted. */
                    vaults?: string[];
                    /** @description The model's window; default: the agent's `contextWindow`, else what its provider says. */
                    window?: number;
                };
            };
        };
        responses: {
            /** @description The answer; with `stream`, server-sent events whose last one, `finished`, has it. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        ending: string;
                        notices: unknown[];
                        question: Record<string, never>;
                        runner: string;
                        tools: unknown[];
                        tree: string;
                    };
                };
            };
        };
    };
    readBookmarks: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                tree: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        nodes: unknown[];
                    };
                };
            };
        };
    };
    readBranchPoints: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                tree: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        nodes: components["schemas"]["Node"][];
                    };
                };
            };
        };
    };
    readBuffer: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                tree: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        text: string;
                    };
                };
            };
        };
    };
    typeText: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                tree: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "text": "It was late."
                 *     }
                 */
                "application/json": {
                    text: string;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
        };
    };
    collaborate: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                tree: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "text": "Look around.",
                 *       "agent": "Muse"
                 *     }
                 */
                "application/json": {
                    /** @description Its name or id; default: the grove's. */
                    agent?: string;
                    /** @description How long it waits for a person's approval on any face, for a tool with effects or a missing permission; default: refused where the caller cannot ask a person, and over HTTP two minutes. */
                    approvalSeconds?: number;
                    /** @description What this run may cost; the grove's spend caps hold as well. */
                    dollars?: number | string;
                    /** @description What counts tokens: an estimator, a function, or a name. */
                    estimator?: string;
                    /** @description The budget in tokens; default: what the model's window leaves. */
                    limit?: number;
                    /** @description The longest answer, in tokens: the part of the window that is reserved for it. */
                    maxTokens?: number;
                    /** @description The node; default: the current one. */
                    node?: string;
                    /** @description Settings by name, for this call only. */
                    preferences?: Record<string, never>;
                    /** @description Log the request in layers, as it is sent. */
                    recordPayload?: boolean;
                    /** @description How long it may take. */
                    seconds?: number;
                    /** @description Makes sampling repeatable, where the provider can. */
                    seed?: number;
                    /** @description The sampling temperature. */
                    temperature?: number;
                    /** @description What to say to it; default: it answers the node. */
                    text?: string;
                    /** @description Seconds without a word after which the call fails. */
                    timeout?: number;
                    /** @description Tokens of its answers and of its commands' results, together. */
                    tokens?: number;
                    /** @description How often the model may answer. */
                    turns?: number;
                    /** @description In a loop without a person: a paid model then needs a spend cap. */
                    unattended?: boolean;
                    /** @description The model's window; default: the agent's `contextWindow`, else what its provider says. */
                    window?: number;
                };
            };
        };
        responses: {
            /** @description The answer. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        run: {
                            attempts: {
                                /** @description Id of the agent that answers. */
                                agent: string;
                                choice: number;
                                cost: string | null;
                                error: {
                                    code: string;
                                    error: string;
                                    hint?: string;
                                    retry?: string;
                                } | null;
                                /** @description The attempt's; the choices of one call share it. */
                                id: string;
                                model: string;
                                /** @description Its name. */
                                name: string;
                                node: string | null;
                                /** @description Characters of its text that have come. */
                                offset: number;
                                /** @description The node that is continued. */
                                parent: string;
                                run: string;
                                /** @enum {unknown} */
                                status: "running" | "complete" | "interrupted" | "failed";
                                tree: string;
                                usage: {
                                    cachedRead?: number | null;
                                    cachedWrite?: number | null;
                                    completion?: number | null;
                                    prompt?: number | null;
                                    total?: number | null;
                                } | null;
                            }[];
                            endedAt: string | null;
                            error: {
                                code: string;
                                error: string;
                                hint?: string;
                                retry?: string;
                            } | null;
                            id: string;
                            /** @enum {unknown} */
                            kind: "generation" | "ask" | "collaboration";
                            /** @description The node that is answered. */
                            node: string;
                            note: string | null;
                            startedAt: string;
                            /** @enum {unknown} */
                            status: "running" | "complete" | "stopped" | "failed";
                            stopping: boolean;
                            tree: string;
                        };
                    };
                };
            };
        };
    };
    commitBuffer: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                tree: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": Record<string, never>;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
        };
    };
    listCompactions: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A tree's id. */
                tree: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The compactions of the tree, each with its ledger. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        compactions: unknown[];
                    };
                };
            };
        };
    };
    readCursor: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                tree: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Cursor"];
                };
            };
        };
    };
    deleteTree: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                tree: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    confirm: string;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": number;
                };
            };
        };
    };
    runCommands: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                tree: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "text": "→ help"
                 *     }
                 */
                "application/json": {
                    /** @description An agent that acts for you. */
                    agent?: string;
                    /** @description Commands, a line each: → help. */
                    text?: string;
                };
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        results: {
                            command: string;
                            number: number;
                            ok: boolean;
                            text: string;
                        }[];
                    };
                };
            };
        };
    };
    listDrafts: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                tree: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        drafts: components["schemas"]["DraftText"][];
                    };
                };
            };
        };
    };
    erase: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                tree: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    end: number;
                    start: number;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        nodes: components["schemas"]["Node"][];
                    };
                };
            };
        };
    };
    exportTree: {
        parameters: {
            query?: {
                /** @description weft, or one of markdown, messages, html, chatgpt, open-webui, pairs. */
                format?: string;
                /** @description Only the path to this node. */
                node?: string;
            };
            header?: never;
            path: {
                /** @description A tree's id. */
                tree: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The file. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": unknown;
                };
            };
        };
    };
    generateAtCursor: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                tree: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "n": 2
                 *     }
                 */
                "application/json": {
                    /** @description Text added to the system prompt. */
                    addendum?: string;
                    /** @description The agent that answers; default: the default agent. */
                    agent?: string;
                    /** @description Several agents, to compare: each gives n. */
                    agents?: string[];
                    /** @description True includes the annotations on the path's nodes, a list those of these nodes. */
                    annotations?: boolean | string[];
                    /** @description The moment that relative times are told from; default: now. */
                    asOf?: string;
                    /** @description What happens to changed items: refresh or append. */
                    changed?: string;
                    /** @description Whether the model continues a document as it is; references go to chat models only. */
                    completion?: boolean;
                    /** @description Further nodes that the answer draws on. */
                    context?: string[];
                    /** @description What counts tokens: an estimator, a function, or a name. */
                    estimator?: string;
                    /** @description False shows notes and documents as they were when they were attached. */
                    fresh?: boolean;
                    /** @description Further nodes that are instructions. */
                    instructions?: string[];
                    /** @description Where items are placed: system or inline. */
                    library?: string;
                    /** @description The budget in tokens; default: what the model's window leaves. */
                    limit?: number;
                    /** @description How many likeliest tokens to record at each place. */
                    logprobs?: number;
                    /** @description A loom-aware agent's view of the tree. */
                    loomContext?: string;
                    /** @description Dollars; a call that could cost more is refused. */
                    maxPrice?: number | string;
                    /** @description The longest answer, in tokens: the part of the window that is reserved for it. */
                    maxTokens?: number;
                    /** @description A loom-aware agent's memory, which is not cached. */
                    memoryBlock?: string;
                    /** @description How many continuations, by each agent. */
                    n?: number;
                    /** @description Settings by name, for this call only. */
                    preferences?: Record<string, never>;
                    /** @description Whether a request may end with an assistant's message. */
                    prefill?: boolean;
                    /** @description Whether the provider caches prefixes; default: what it says. */
                    prefixCache?: boolean;
                    /** @description Log the request in layers, as it is sent. */
                    recordPayload?: boolean;
                    /** @description Makes sampling repeatable, where the provider can. */
                    seed?: number;
                    /** @description The share of the budget by which a cut moves; 0 cuts exactly. */
                    step?: number;
                    /** @description Texts that end the answer. */
                    stop?: string[];
                    /** @description What happens to a path that is too long: truncateMiddle, rollingWindow or stopAtLimit. */
                    strategy?: string;
                    /** @description How many turns stay in full, after summaries of the earlier ones. */
                    strip?: number;
                    /** @description Replaces the turns before the strip; default: the nodes' summaries. */
                    summary?: string;
                    /** @description Whether system messages may stand in mid-conversation; default: what the provider takes. */
                    systemAnywhere?: boolean;
                    /** @description The sampling temperature. */
                    temperature?: number;
                    /** @description Input that is not a node yet; in a buffer it replaces the working buffer. */
                    text?: string;
                    /** @description Seconds without a word after which the call fails. */
                    timeout?: number;
                    /** @description Whether the model has tool calling; default: what it says. Without it, calls are words. */
                    toolCalling?: boolean;
                    /** @description Whether the model may call its tools: auto, none or required. */
                    toolChoice?: string;
                    /** @description Descriptions of the tools that the model may call. */
                    toolDescriptions?: string;
                    /** @description Sample from this share of the likeliest tokens. */
                    topP?: number;
                    /** @description In a loop without a person: a paid model then needs a spend cap. */
                    unattended?: boolean;
                    /** @description The model's window; default: the agent's `contextWindow`, else what its provider says. */
                    window?: number;
                };
            };
        };
        responses: {
            /** @description The run, which goes on. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        run: {
                            attempts: {
                                /** @description Id of the agent that answers. */
                                agent: string;
                                choice: number;
                                cost: string | null;
                                error: {
                                    code: string;
                                    error: string;
                                    hint?: string;
                                    retry?: string;
                                } | null;
                                /** @description The attempt's; the choices of one call share it. */
                                id: string;
                                model: string;
                                /** @description Its name. */
                                name: string;
                                node: string | null;
                                /** @description Characters of its text that have come. */
                                offset: number;
                                /** @description The node that is continued. */
                                parent: string;
                                run: string;
                                /** @enum {unknown} */
                                status: "running" | "complete" | "interrupted" | "failed";
                                tree: string;
                                usage: {
                                    cachedRead?: number | null;
                                    cachedWrite?: number | null;
                                    completion?: number | null;
                                    prompt?: number | null;
                                    total?: number | null;
                                } | null;
                            }[];
                            endedAt: string | null;
                            error: {
                                code: string;
                                error: string;
                                hint?: string;
                                retry?: string;
                            } | null;
                            id: string;
                            /** @enum {unknown} */
                            kind: "generation" | "ask" | "collaboration";
                            /** @description The node that is answered. */
                            node: string;
                            note: string | null;
                            startedAt: string;
                            /** @enum {unknown} */
                            status: "running" | "complete" | "stopped" | "failed";
                            stopping: boolean;
                            tree: string;
                        };
                    };
                };
            };
        };
    };
    listGrants: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                tree: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        grants: unknown[];
                    };
                };
            };
        };
    };
    grant: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                tree: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "agent": "Ada",
                 *       "subject": "tool",
                 *       "name": "files.write"
                 *     }
                 */
                "application/json": {
                    agent: string;
                    allowed?: boolean;
                    name: string;
                    /** @enum {unknown} */
                    subject: "tool" | "permission";
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        grants: components["schemas"]["TreeGrants"][];
                    };
                };
            };
        };
    };
    listFolds: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A tree's id. */
                tree: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The collapsed ranges. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        groups: components["schemas"]["CollapsedRange"][];
                    };
                };
            };
        };
    };
    foldRange: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A tree's id. */
                tree: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The placeholder's text; default: how the range begins and ends. */
                    description?: string;
                    /** @description The first node of the range. */
                    first: string;
                    /** @description The last node of the range. */
                    last: string;
                    name: string;
                };
            };
        };
        responses: {
            /** @description The collapsed range. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        description: string;
                        id: string;
                        name: string;
                    };
                };
            };
        };
    };
    expandRange: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A tree's id. */
                tree: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    name: string;
                    remove?: boolean;
                };
            };
        };
        responses: {
            /** @description The collapsed ranges. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        groups: components["schemas"]["CollapsedRange"][];
                    };
                };
            };
        };
    };
    readTreeHistory: {
        parameters: {
            query?: {
                /** @description Only what this agent did. */
                agent?: string;
                /** @description Only before this event. */
                before?: number;
                /** @description How many operations, at most. */
                limit?: number;
            };
            header?: never;
            path: {
                tree: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        entries: components["schemas"]["HistoryEntry"][];
                    };
                };
            };
        };
    };
    readLeaves: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                tree: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        nodes: components["schemas"]["Node"][];
                    };
                };
            };
        };
    };
    readMedia: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The ref of an image or a recording. */
                ref: string;
                /** @description A tree's id. */
                tree: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Its bytes. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": unknown;
                };
            };
        };
    };
    merge: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                tree: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "nodes": [
                 *         "a7x2",
                 *         "b3k9"
                 *       ],
                 *       "content": "Both."
                 *     }
                 */
                "application/json": {
                    content: string | Record<string, never>;
                    nodes: string[];
                    sources?: {
                        node: string;
                        /** @enum {unknown} */
                        role?: "primary" | "context" | "instruction";
                    }[];
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Node"];
                };
            };
        };
    };
    readNodes: {
        parameters: {
            query?: {
                /** @description The number of the first node. */
                first?: number;
                /** @description The number of the last node; at most 1,000 nodes. */
                last?: number;
            };
            header?: never;
            path: {
                tree: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        nodes: components["schemas"]["Node"][];
                    };
                };
            };
        };
    };
    append: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                tree: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "content": "Because of the fog."
                 *     }
                 */
                "application/json": {
                    attachments?: {
                        content: string;
                        created?: string | null;
                        id: string;
                        images?: {
                            altText?: string | null;
                            height: number;
                            mimeType: string;
                            ref: string;
                            width: number;
                        }[];
                        modified?: string | null;
                        pinned?: boolean;
                        recoverable?: boolean;
                        title?: string | null;
                        type: string;
                    }[];
                    author?: string | null;
                    content: string | Record<string, never>;
                    draft?: boolean;
                    parent?: string | null;
                    sources?: {
                        node: string;
                        /** @enum {unknown} */
                        role?: "primary" | "context" | "instruction";
                    }[];
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Node"];
                };
            };
        };
    };
    readNode: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                node: string;
                tree: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Node"];
                };
            };
        };
    };
    annotate: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                node: string;
                tree: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "content": "Keep this."
                 *     }
                 */
                "application/json": {
                    content: string | Record<string, never>;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Node"];
                };
            };
        };
    };
    readAnnotations: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                node: string;
                tree: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        nodes: components["schemas"]["Node"][];
                    };
                };
            };
        };
    };
    attach: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                node: string;
                tree: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    item: {
                        content: string;
                        created?: string | null;
                        id: string;
                        images?: {
                            altText?: string | null;
                            height: number;
                            mimeType: string;
                            ref: string;
                            width: number;
                        }[];
                        modified?: string | null;
                        pinned?: boolean;
                        recoverable?: boolean;
                        title?: string | null;
                        type: string;
                    };
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Item"][];
                };
            };
        };
    };
    readAuthorship: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                node: string;
                tree: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        spans: components["schemas"]["AuthorSpan"][];
                    };
                };
            };
        };
    };
    bookmark: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                node: string;
                tree: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "label": "her voice"
                 *     }
                 */
                "application/json": {
                    label?: string | null;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Metadata"];
                };
            };
        };
    };
    readBundle: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                node: string;
                tree: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The bundle. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": string;
                    "application/zip": unknown;
                };
            };
        };
    };
    readChildren: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                node: string;
                tree: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        nodes: components["schemas"]["Node"][];
                    };
                };
            };
        };
    };
    appendNode: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A node's id or local id. */
                node: string;
                /** @description A tree's id. */
                tree: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "content": "Because of the fog."
                 *     }
                 */
                "application/json": {
                    /** @description The agent that wrote it; default: the client's own. */
                    author?: string;
                    content: string | Record<string, never>;
                };
            };
        };
        responses: {
            /** @description The node. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Node"];
                };
            };
        };
    };
    readContext: {
        parameters: {
            query?: {
                /** @description Text added to the system prompt. */
                addendum?: string;
                /** @description The agent that answers; default: the default agent. */
                agent?: string;
                /** @description True includes the annotations on the path's nodes, a list those of these nodes. */
                annotations?: boolean | string[];
                /** @description The moment that relative times are told from; default: now. */
                asOf?: string;
                /** @description What happens to changed items: refresh or append. */
                changed?: string;
                /** @description Whether the model continues a document as it is; references go to chat models only. */
                completion?: boolean;
                /** @description Instructions for the form of the answer, given once before the question. */
                composer?: string;
                /** @description Further nodes that the answer draws on. */
                context?: string[];
                /** @description What counts tokens: an estimator, a function, or a name. */
                estimator?: string;
                /** @description False shows notes and documents as they were when they were attached. */
                fresh?: boolean;
                /** @description Further nodes that are instructions. */
                instructions?: string[];
                /** @description Where items are placed: system or inline. */
                library?: string;
                /** @description The budget in tokens; default: what the model's window leaves. */
                limit?: number;
                /** @description How many likeliest tokens to record at each place. */
                logprobs?: number;
                /** @description A loom-aware agent's view of the tree. */
                loomContext?: string;
                /** @description The longest answer, in tokens: the part of the window that is reserved for it. */
                maxTokens?: number;
                /** @description A loom-aware agent's memory, which is not cached. */
                memoryBlock?: string;
                /** @description How many continuations, by each agent. */
                n?: number;
                /** @description Settings by name, for this call only. */
                preferences?: string;
                /** @description Whether a request may end with an assistant's message. */
                prefill?: boolean;
                /** @description Whether the provider caches prefixes; default: what it says. */
                prefixCache?: boolean;
                /** @description Log the request in layers, as it is sent. */
                recordPayload?: boolean;
                /** @description How the turn is run: chat, vault, tools, agent or project; default: chat, with vaults vault. */
                runner?: string;
                /** @description Makes sampling repeatable, where the provider can. */
                seed?: number;
                /** @description The share of the budget by which a cut moves; 0 cuts exactly. */
                step?: number;
                /** @description Texts that end the answer. */
                stop?: string[];
                /** @description What happens to a path that is too long: truncateMiddle, rollingWindow or stopAtLimit. */
                strategy?: string;
                /** @description How many turns stay in full, after summaries of the earlier ones. */
                strip?: number;
                /** @description Replaces the turns before the strip; default: the nodes' summaries. */
                summary?: string;
                /** @description Whether system messages may stand in mid-conversation; default: what the provider takes. */
                systemAnywhere?: boolean;
                /** @description The sampling temperature. */
                temperature?: number;
                /** @description Input that is not a node yet; in a buffer it replaces the working buffer. */
                text?: string;
                /** @description Whether the model has tool calling; default: what it says. Without it, calls are words. */
                toolCalling?: boolean;
                /** @description Whether the model may call its tools: auto, none or required. */
                toolChoice?: string;
                /** @description Descriptions of the tools that the model may call. */
                toolDescriptions?: string;
                /** @description Only these tools may be used; default: all that are on. */
                toolNames?: string[];
                /** @description Sample from this share of the likeliest tokens. */
                topP?: number;
                /** @description Only these vaults are looked into; default: all that are mounted. */
                vaults?: string[];
                /** @description The model's window; default: the agent's `contextWindow`, else what its provider says. */
                window?: number;
            };
            header?: never;
            path: {
                /** @description A node's id or local id. */
                node: string;
                /** @description A tree's id. */
                tree: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request and its manifest. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        manifest: Record<string, never>;
                        messages: unknown[];
                        tokens: number;
                    };
                };
            };
        };
    };
    compareContexts: {
        parameters: {
            query?: {
                /** @description Text added to the system prompt. */
                addendum?: string;
                /** @description The agent that answers; default: the default agent. */
                agent?: string;
                /** @description True includes the annotations on the path's nodes, a list those of these nodes. */
                annotations?: boolean | string[];
                /** @description The moment that relative times are told from; default: now. */
                asOf?: string;
                /** @description What happens to changed items: refresh or append. */
                changed?: string;
                /** @description Whether the model continues a document as it is; references go to chat models only. */
                completion?: boolean;
                /** @description Further nodes that the answer draws on. */
                context?: string[];
                /** @description What counts tokens: an estimator, a function, or a name. */
                estimator?: string;
                /** @description False shows notes and documents as they were when they were attached. */
                fresh?: boolean;
                /** @description Further nodes that are instructions. */
                instructions?: string[];
                /** @description Where items are placed: system or inline. */
                library?: string;
                /** @description The budget in tokens; default: what the model's window leaves. */
                limit?: number;
                /** @description How many likeliest tokens to record at each place. */
                logprobs?: number;
                /** @description A loom-aware agent's view of the tree. */
                loomContext?: string;
                /** @description The longest answer, in tokens: the part of the window that is reserved for it. */
                maxTokens?: number;
                /** @description A loom-aware agent's memory, which is not cached. */
                memoryBlock?: string;
                /** @description How many continuations, by each agent. */
                n?: number;
                /** @description Another node of the tree; default: the same one. */
                other?: string;
                /** @description Options of the other request. */
                otherSettings?: string;
                /** @description Settings by name, for this call only. */
                preferences?: string;
                /** @description Whether a request may end with an assistant's message. */
                prefill?: boolean;
                /** @description Whether the provider caches prefixes; default: what it says. */
                prefixCache?: boolean;
                /** @description Log the request in layers, as it is sent. */
                recordPayload?: boolean;
                /** @description Makes sampling repeatable, where the provider can. */
                seed?: number;
                /** @description The share of the budget by which a cut moves; 0 cuts exactly. */
                step?: number;
                /** @description Texts that end the answer. */
                stop?: string[];
                /** @description What happens to a path that is too long: truncateMiddle, rollingWindow or stopAtLimit. */
                strategy?: string;
                /** @description How many turns stay in full, after summaries of the earlier ones. */
                strip?: number;
                /** @description Replaces the turns before the strip; default: the nodes' summaries. */
                summary?: string;
                /** @description Whether system messages may stand in mid-conversation; default: what the provider takes. */
                systemAnywhere?: boolean;
                /** @description The sampling temperature. */
                temperature?: number;
                /** @description Input that is not a node yet; in a buffer it replaces the working buffer. */
                text?: string;
                /** @description Whether the model has tool calling; default: what it says. Without it, calls are words. */
                toolCalling?: boolean;
                /** @description Whether the model may call its tools: auto, none or required. */
                toolChoice?: string;
                /** @description Descriptions of the tools that the model may call. */
                toolDescriptions?: string;
                /** @description Sample from this share of the likeliest tokens. */
                topP?: number;
                /** @description The model's window; default: the agent's `contextWindow`, else what its provider says. */
                window?: number;
            };
            header?: never;
            path: {
                node: string;
                tree: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        changes: Record<string, never>[];
                        tokens: number[];
                    };
                };
            };
        };
    };
    detach: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                node: string;
                tree: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    itemId: string;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Item"][];
                };
            };
        };
    };
    compareNodes: {
        parameters: {
            query?: {
                /** @description The other node. */
                other?: string;
                /** @description Compare the paths, not only the nodes. */
                paths?: boolean;
            };
            header?: never;
            path: {
                node: string;
                tree: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Difference"];
                };
            };
        };
    };
    readDraft: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                node: string;
                tree: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        text: string;
                    };
                };
            };
        };
    };
    keepDraft: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                node: string;
                tree: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "text": "It was late, and"
                 *     }
                 */
                "application/json": {
                    /** @description What is typed now; empty: nothing is. */
                    text?: string;
                };
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        text: string;
                    };
                };
            };
        };
    };
    commitDraft: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                node: string;
                tree: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": Record<string, never>;
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        node: components["schemas"]["Node"] | null;
                    };
                };
            };
        };
    };
    edit: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                node: string;
                tree: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "content": "Because of the storm."
                 *     }
                 */
                "application/json": {
                    content: string | Record<string, never>;
                    sources?: {
                        node: string;
                        /** @enum {unknown} */
                        role?: "primary" | "context" | "instruction";
                    }[] | null;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Node"];
                };
            };
        };
    };
    exclude: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                node: string;
                tree: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": Record<string, never>;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Metadata"];
                };
            };
        };
    };
    generate: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                node: string;
                tree: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "n": 2
                 *     }
                 */
                "application/json": {
                    /** @description Text added to the system prompt. */
                    addendum?: string;
                    /** @description The agent that answers; default: the default agent. */
                    agent?: string;
                    /** @description Several agents, to compare: each gives n. */
                    agents?: string[];
                    /** @description True includes the annotations on the path's nodes, a list those of these nodes. */
                    annotations?: boolean | string[];
                    /** @description The moment that relative times are told from; default: now. */
                    asOf?: string;
                    /** @description What happens to changed items: refresh or append. */
                    changed?: string;
                    /** @description Whether the model continues a document as it is; references go to chat models only. */
                    completion?: boolean;
                    /** @description Further nodes that the answer draws on. */
                    context?: string[];
                    /** @description What counts tokens: an estimator, a function, or a name. */
                    estimator?: string;
                    /** @description False shows notes and documents as they were when they were attached. */
                    fresh?: boolean;
                    /** @description Further nodes that are instructions. */
                    instructions?: string[];
                    /** @description Where items are placed: system or inline. */
                    library?: string;
                    /** @description The budget in tokens; default: what the model's window leaves. */
                    limit?: number;
                    /** @description How many likeliest tokens to record at each place. */
                    logprobs?: number;
                    /** @description A loom-aware agent's view of the tree. */
                    loomContext?: string;
                    /** @description Dollars; a call that could cost more is refused. */
                    maxPrice?: number | string;
                    /** @description The longest answer, in tokens: the part of the window that is reserved for it. */
                    maxTokens?: number;
                    /** @description A loom-aware agent's memory, which is not cached. */
                    memoryBlock?: string;
                    /** @description How many continuations, by each agent. */
                    n?: number;
                    /** @description Settings by name, for this call only. */
                    preferences?: Record<string, never>;
                    /** @description Whether a request may end with an assistant's message. */
                    prefill?: boolean;
                    /** @description Whether the provider caches prefixes; default: what it says. */
                    prefixCache?: boolean;
                    /** @description Log the request in layers, as it is sent. */
                    recordPayload?: boolean;
                    /** @description Makes sampling repeatable, where the provider can. */
                    seed?: number;
                    /** @description The share of the budget by which a cut moves; 0 cuts exactly. */
                    step?: number;
                    /** @description Texts that end the answer. */
                    stop?: string[];
                    /** @description What happens to a path that is too long: truncateMiddle, rollingWindow or stopAtLimit. */
                    strategy?: string;
                    /** @description How many turns stay in full, after summaries of the earlier ones. */
                    strip?: number;
                    /** @description Replaces the turns before the strip; default: the nodes' summaries. */
                    summary?: string;
                    /** @description Whether system messages may stand in mid-conversation; default: what the provider takes. */
                    systemAnywhere?: boolean;
                    /** @description The sampling temperature. */
                    temperature?: number;
                    /** @description Input that is not a node yet; in a buffer it replaces the working buffer. */
                    text?: string;
                    /** @description Seconds without a word after which the call fails. */
                    timeout?: number;
                    /** @description Whether the model has tool calling; default: what it says. Without it, calls are words. */
                    toolCalling?: boolean;
                    /** @description Whether the model may call its tools: auto, none or required. */
                    toolChoice?: string;
                    /** @description Descriptions of the tools that the model may call. */
                    toolDescriptions?: string;
                    /** @description Sample from this share of the likeliest tokens. */
                    topP?: number;
                    /** @description In a loop without a person: a paid model then needs a spend cap. */
                    unattended?: boolean;
                    /** @description The model's window; default: the agent's `contextWindow`, else what its provider says. */
                    window?: number;
                };
            };
        };
        responses: {
            /** @description The run, which goes on. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        run: {
                            attempts: {
                                /** @description Id of the agent that answers. */
                                agent: string;
                                choice: number;
                                cost: string | null;
                                error: {
                                    code: string;
                                    error: string;
                                    hint?: string;
                                    retry?: string;
                                } | null;
                                /** @description The attempt's; the choices of one call share it. */
                                id: string;
                                model: string;
                                /** @description Its name. */
                                name: string;
                                node: string | null;
                                /** @description Characters of its text that have come. */
                                offset: number;
                                /** @description The node that is continued. */
                                parent: string;
                                run: string;
                                /** @enum {unknown} */
                                status: "running" | "complete" | "interrupted" | "failed";
                                tree: string;
                                usage: {
                                    cachedRead?: number | null;
                                    cachedWrite?: number | null;
                                    completion?: number | null;
                                    prompt?: number | null;
                                    total?: number | null;
                                } | null;
                            }[];
                            endedAt: string | null;
                            error: {
                                code: string;
                                error: string;
                                hint?: string;
                                retry?: string;
                            } | null;
                            id: string;
                            /** @enum {unknown} */
                            kind: "generation" | "ask" | "collaboration";
                            /** @description The node that is answered. */
                            node: string;
                            note: string | null;
                            startedAt: string;
                            /** @enum {unknown} */
                            status: "running" | "complete" | "stopped" | "failed";
                            stopping: boolean;
                            tree: string;
                        };
                    };
                };
            };
        };
    };
    include: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                node: string;
                tree: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": Record<string, never>;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Metadata"];
                };
            };
        };
    };
    join: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                node: string;
                tree: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    following?: string | null;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Node"];
                };
            };
        };
    };
    readPath: {
        parameters: {
            query?: {
                /** @description The last N nodes. */
                tail?: number;
            };
            header?: never;
            path: {
                /** @description A node's id or local id. */
                node: string;
                /** @description A tree's id. */
                tree: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The nodes, root first. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        nodes: components["schemas"]["Node"][];
                    };
                };
            };
        };
    };
    planRequest: {
        parameters: {
            query?: {
                /** @description Text added to the system prompt. */
                addendum?: string;
                /** @description The agent that answers; default: the default agent. */
                agent?: string;
                /** @description Several agents, to compare. */
                agents?: string[];
                /** @description True includes the annotations on the path's nodes, a list those of these nodes. */
                annotations?: boolean | string[];
                /** @description The moment that relative times are told from; default: now. */
                asOf?: string;
                /** @description What happens to changed items: refresh or append. */
                changed?: string;
                /** @description Whether the model continues a document as it is; references go to chat models only. */
                completion?: boolean;
                /** @description Instructions for the form of the answer, given once before the question. */
                composer?: string;
                /** @description Further nodes that the answer draws on. */
                context?: string[];
                /** @description What counts tokens: an estimator, a function, or a name. */
                estimator?: string;
                /** @description The first row of the manifest that is given. */
                first?: number;
                /** @description False shows notes and documents as they were when they were attached. */
                fresh?: boolean;
                /** @description Further nodes that are instructions. */
                instructions?: string[];
                /** @description Where items are placed: system or inline. */
                library?: string;
                /** @description The budget in tokens; default: what the model's window leaves. */
                limit?: number;
                /** @description How many likeliest tokens to record at each place. */
                logprobs?: number;
                /** @description A loom-aware agent's view of the tree. */
                loomContext?: string;
                /** @description The longest answer, in tokens: the part of the window that is reserved for it. */
                maxTokens?: number;
                /** @description A loom-aware agent's memory, which is not cached. */
                memoryBlock?: string;
                /** @description How many continuations, by each agent. */
                n?: number;
                /** @description Settings by name, for this call only. */
                preferences?: string;
                /** @description Whether a request may end with an assistant's message. */
                prefill?: boolean;
                /** @description Whether the provider caches prefixes; default: what it says. */
                prefixCache?: boolean;
                /** @description With the price and the cached share of n answers by each agent. */
                price?: boolean;
                /** @description Log the request in layers, as it is sent. */
                recordPayload?: boolean;
                /** @description How many rows of the manifest, at most. */
                rows?: number;
                /** @description How the turn is run: chat, vault, tools, agent or project; default: chat, with vaults vault. */
                runner?: string;
                /** @description Makes sampling repeatable, where the provider can. */
                seed?: number;
                /** @description The share of the budget by which a cut moves; 0 cuts exactly. */
                step?: number;
                /** @description Texts that end the answer. */
                stop?: string[];
                /** @description What happens to a path that is too long: truncateMiddle, rollingWindow or stopAtLimit. */
                strategy?: string;
                /** @description How many turns stay in full, after summaries of the earlier ones. */
                strip?: number;
                /** @description Replaces the turns before the strip; default: the nodes' summaries. */
                summary?: string;
                /** @description Whether system messages may stand in mid-conversation; default: what the provider takes. */
                systemAnywhere?: boolean;
                /** @description The sampling temperature. */
                temperature?: number;
                /** @description Input that is not a node yet; in a buffer it replaces the working buffer. */
                text?: string;
                /** @description Whether the model has tool calling; default: what it says. Without it, calls are words. */
                toolCalling?: boolean;
                /** @description Whether the model may call its tools: auto, none or required. */
                toolChoice?: string;
                /** @description Descriptions of the tools that the model may call. */
                toolDescriptions?: string;
                /** @description Only these tools may be used; default: all that are on. */
                toolNames?: string[];
                /** @description Sample from this share of the likeliest tokens. */
                topP?: number;
                /** @description Only these vaults are looked into; default: all that are mounted. */
                vaults?: string[];
                /** @description The model's window; default: the agent's `contextWindow`, else what its provider says. */
                window?: number;
            };
            header?: never;
            path: {
                node: string;
                tree: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        agent?: string | null;
                        budget: number | null;
                        cached: number | null;
                        hash: string;
                        layers: unknown[];
                        model?: string | null;
                        price: {
                            agents?: Record<string, never>[];
                            cachedShare?: number | null;
                            dollars?: string | null;
                            tokens?: number;
                        } | null;
                        removedNodes?: number;
                        removedTokens?: number;
                        rows: Record<string, never>[];
                        tokens: number;
                        truncated: boolean;
                        warnings?: string[];
                    };
                };
            };
        };
    };
    readProvenance: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                node: string;
                tree: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Provenance"];
                };
            };
        };
    };
    prune: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                node: string;
                tree: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": Record<string, never>;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        count: number;
                    };
                };
            };
        };
    };
    readRequest: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                node: string;
                tree: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The body of the request. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        bytes: number;
                        sha256: string;
                        text: string;
                    };
                };
            };
        };
    };
    readResponse: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                node: string;
                tree: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The response, with its head where it is kept. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        bytes: number;
                        sha256: string;
                        text: string;
                    };
                };
            };
        };
    };
    restore: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                node: string;
                tree: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": Record<string, never>;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        count: number;
                    };
                };
            };
        };
    };
    readSiblings: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                node: string;
                tree: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        nodes: components["schemas"]["Node"][];
                    };
                };
            };
        };
    };
    split: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                node: string;
                tree: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "at": "and"
                 *     }
                 */
                "application/json": {
                    at: number | string;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        nodes: components["schemas"]["Node"][];
                    };
                };
            };
        };
    };
    readTokens: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                node: string;
                tree: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The tokens with their alternatives; none where none were asked for. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        tokens: unknown[];
                    };
                };
            };
        };
    };
    unbookmark: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                node: string;
                tree: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": Record<string, never>;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Metadata"];
                };
            };
        };
    };
    readVersions: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                node: string;
                tree: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        nodes: components["schemas"]["Node"][];
                    };
                };
            };
        };
    };
    openTree: {
        parameters: {
            query?: {
                /** @description Open it at this node; default: at your cursor. */
                node?: string;
                /** @description The last N nodes of the path. */
                tail?: number;
            };
            header?: never;
            path: {
                tree: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenedTree"];
                };
            };
        };
    };
    readOutline: {
        parameters: {
            query?: {
                /** @description How many nodes, at most. */
                limit?: number;
                /** @description Only below this node. */
                node?: string;
            };
            header?: never;
            path: {
                tree: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        rows: unknown[];
                    };
                };
            };
        };
    };
    preferInTree: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                tree: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "settings": {
                 *         "truncationStep": 0
                 *       }
                 *     }
                 */
                "application/json": {
                    settings: Record<string, never>;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
        };
    };
    readPresence: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                tree: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        agents: unknown[];
                    };
                };
            };
        };
    };
    assignProject: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                tree: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    project: string | null;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Tree"];
                };
            };
        };
    };
    readReadMarks: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                tree: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        read: string;
                        unread: number;
                    };
                };
            };
        };
    };
    markRead: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                tree: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "nodes": []
                 *     }
                 */
                "application/json": {
                    /** @description Ids of nodes; default: all of the tree. */
                    nodes?: string[];
                    /** @description False: they are to be read again. */
                    read?: boolean;
                };
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        read: string;
                        unread: number;
                    };
                };
            };
        };
    };
    redo: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                tree: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    steps?: number;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        steps: components["schemas"]["HistoryStep"][];
                    };
                };
            };
        };
    };
    readToolResult: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                number: string;
                tree: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        text: string;
                    };
                };
            };
        };
    };
    readSkeleton: {
        parameters: {
            query?: {
                /** @description The number of the first node: a client that knows the others reads the rest. */
                first?: number;
            };
            header?: never;
            path: {
                tree: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Skeleton"];
                };
            };
        };
    };
    readStatistics: {
        parameters: {
            query?: {
                /** @description The agent whose settings are tried. */
                agent?: string;
                /** @description The branch that ends at this node; default: where you are. */
                path?: string;
            };
            header?: never;
            path: {
                tree: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Sums of all requests, of each branch, and what other settings would have cost. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        branches: unknown[];
                        notes: unknown[];
                        requests: Record<string, never>;
                        unstable: unknown[];
                        variants: unknown[];
                    };
                };
            };
        };
    };
    switch: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                tree: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "to": "parent"
                 *     }
                 */
                "application/json": {
                    to: ("next" | "previous" | "parent" | "child" | "leaf") | string;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": string;
                };
            };
        };
    };
    unarchive: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                tree: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": Record<string, never>;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
        };
    };
    undo: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                tree: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    steps?: number;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        steps: components["schemas"]["HistoryStep"][];
                    };
                };
            };
        };
    };
    undoInGrove: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    steps?: number;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        steps: components["schemas"]["HistoryStep"][];
                    };
                };
            };
        };
    };
    listUsers: {
        parameters: {
            query?: {
                /** @description Include what is archived. */
                archived?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        users: components["schemas"]["User"][];
                    };
                };
            };
        };
    };
    archiveUser: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                user: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    restore?: boolean;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
        };
    };
    setRole: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                user: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "role": "editor"
                 *     }
                 */
                "application/json": {
                    role: ("owner" | "editor" | "reader") | null;
                    tree?: string | null;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
        };
    };
    listRoles: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                user: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        roles: components["schemas"]["Membership"][];
                    };
                };
            };
        };
    };
    listTokens: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                user: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        tokens: components["schemas"]["Token"][];
                    };
                };
            };
        };
    };
    addToken: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A user's name or id. */
                user: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "label": "laptop"
                 *     }
                 */
                "application/json": {
                    label?: string;
                    service?: boolean;
                };
            };
        };
        responses: {
            /** @description Its secret, once. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        secret: string;
                        token: Record<string, never>;
                    };
                };
            };
        };
    };
    listVaults: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        vaults: components["schemas"]["Vault"][];
                    };
                };
            };
        };
    };
    mountVault: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    name?: string | null;
                    path: string;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Vault"];
                };
            };
        };
    };
    readVaultStatus: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                vault: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        id: string;
                    };
                };
            };
        };
    };
    unmountVault: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                vault: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": Record<string, never>;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Vault"];
                };
            };
        };
    };
    removeGroups: {
        parameters: {
            query?: {
                /** @description For service tokens: the user of the records. */
                userId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    responseId: string;
                    sessionId: string;
                    userId?: string;
                };
            };
        };
        responses: {
            /** @description The number of groups removed. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        ok: boolean;
                        removed_groups: number;
                    };
                };
            };
        };
    };
    setGroupState: {
        parameters: {
            query?: {
                /** @description For service tokens: the user of the records. */
                userId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    expanded: boolean;
                    group: string;
                    responseId?: string;
                    sessionId: string;
                    userId?: string;
                };
            };
        };
        responses: {
            /** @description The group. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        expanded: boolean;
                        group: string;
                        ok: boolean;
                        updated_at: number;
                    };
                };
            };
        };
    };
    runRecipe: {
        parameters: {
            query?: {
                /** @description For service tokens: the user of the records. */
                userId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "kala": {
                 *         "kind": "SegKala",
                 *         "sessionId": "s1",
                 *         "end": 1700000000,
                 *         "windowSeconds": 3600
                 *       },
                 *       "presetId": "TopicContext"
                 *     }
                 */
                "application/json": {
                    includeDocId?: boolean;
                    kala: {
                        begin?: number;
                        end?: number;
                        kind: string;
                        nodeId?: string;
                        sessionEnd?: number;
                        sessionId?: string;
                        topicId?: string;
                        treeId?: string;
                        weekEnd?: number;
                        windowSeconds?: number;
                    };
                    model?: {
                        components?: {
                            children?: Record<string, never>[];
                            framing?: string;
                            /** @enum {unknown} */
                            kind: "yoj" | "ista" | "literal";
                            name?: string;
                            value?: string;
                        }[];
                        filters?: (string | {
                            name: string;
                            options?: Record<string, never>;
                        })[];
                        intro?: {
                            system?: string;
                        };
                        promoteUpstream?: boolean;
                    };
                    /** @enum {unknown} */
                    onFilterError?: "fail" | "skip";
                    presetId?: string;
                    projectId?: string;
                    /** @description For service tokens: the user of the records. */
                    userId?: string;
                };
            };
        };
        responses: {
            /** @description The messages. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        yoj: unknown[];
                    };
                };
            };
        };
    };
    indexGroups: {
        parameters: {
            query?: {
                /** @description For service tokens: the user of the records. */
                userId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    groups?: {
                        description?: string;
                        items?: {
                            id?: string;
                            /** @enum {unknown} */
                            type?: "message" | "collapsed";
                        }[];
                        name?: string;
                    }[];
                    includeResponseToGroups?: boolean;
                    responseId?: string;
                    sessionId: string;
                    userId?: string;
                };
            };
        };
        responses: {
            /** @description The numbers of what was indexed. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        batches: number;
                        indexed_groups: number;
                        indexed_messages: number;
                        ok: boolean;
                    };
                };
            };
        };
    };
}
