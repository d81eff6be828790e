// Generated from GET /openapi.json by openapi_types.mjs; not edited by hand.
export interface paths {
    "/execute": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Runs a User Turn, or takes a Tool Continuation.
         * @description What fails before the turn starts is JSON with its status; from then on a turn with Streaming is answered with server-sent events, unless Prefer asks for 202. The same submission sent again attaches to the turn while it runs, gets the stored result of a success, and runs a failed turn on.
         */
        post: operations["execute"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The sessions of a user, newest first.
         * @description Of the user whom the credential names, or for whom a key acts. As long as there is a Next, ask again with it as After. A list may be as old as one alarm (TURN_ALARM_MS); a session's first turn shows at once.
         */
        get: operations["listSessions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/sessions/{SessionId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The session: mode, turns, what it waits for.
         * @description LiveTurn is absent while the session takes a new turn.
         */
        get: operations["getSession"];
        put?: never;
        post?: never;
        /**
         * Erases the session, answers with a receipt.
         * @description What runs is cancelled, and every row and file is erased.
         */
        delete: operations["eraseSession"];
        options?: never;
        head?: never;
        /**
         * Gives a session its title in the list of its user.
         * @description The title stays, whatever the session's instructions say.
         */
        patch: operations["renameSession"];
        trace?: never;
    };
    "/sessions/{SessionId}/turns": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Turns, oldest first.
         * @description While More is true, ask again with the last TurnId as After.
         */
        get: operations["listTurns"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/sessions/{SessionId}/turns/{TurnId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * One turn: status, times, usage, pending tool calls, stored outcome.
         * @description Outcome is absent while the turn runs.
         */
        get: operations["getTurn"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/sessions/{SessionId}/turns/{TurnId}/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Follows a running turn, or replays an ended one.
         * @description It begins at the start of the text, or behind the position in Last-Event-ID.
         */
        get: operations["streamTurn"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/sessions/{SessionId}/turns/{TurnId}/trace": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Diagnostics: sizes, sources, ids and times, never content.
         * @description For operators: what a turn was composed of, and what it did when.
         */
        get: operations["traceTurn"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/sessions/{SessionId}/turns/{TurnId}/steer": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Adds words to a turn that runs or waits.
         * @description The turn's next model call takes them; where the turn ends before, the next turn has them. They are in the conversation exactly once, unless the model service refuses them (State refused). Of a turn that has ended they are turn_ended, and nothing is kept. The same request sent again shows what has become of them.
         */
        post: operations["steerTurn"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/sessions/{SessionId}/fork": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Makes a new session that goes on from a turn of this one.
         * @description The new session has everything up to and with that turn; this one is untouched. The same request sent again is answered the same.
         */
        post: operations["forkSession"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/sessions/{SessionId}/turns/{TurnId}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Aborts a running or paused turn.
         * @description A turn that has ended stays as it is.
         */
        post: operations["cancelTurn"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/sessions/{SessionId}/modes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Mode history.
         * @description Every change of the session's mode, oldest first.
         */
        get: operations["listModes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/sessions/{SessionId}/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Everything kept of the session.
         * @description One JSON document, sent piece by piece.
         */
        get: operations["exportSession"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/tickets": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Mints a ticket for a page or a guest; stores nothing.
         * @description With a key that has the right Tickets, User is required. With a ticket the result is a narrower one: what is left out is inherited.
         */
        post: operations["mintTicket"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/{User}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * A user's sessions by their status.
         * @description For a key that has the right ActAs.
         */
        get: operations["getUser"];
        put?: never;
        post?: never;
        /**
         * Erases all sessions of a user, answers with a receipt.
         * @description For a key that has the right EraseUsers. What was issued to the user before is void. As long as sessions are Pending, the same request gives newer counts; after the last receipt it is user_not_found.
         */
        delete: operations["eraseUser"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/{User}/revoke": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Makes tickets and tokens void that were issued to a user before now.
         * @description For a key that has the right EraseUsers. Answers when every session of the user knows.
         */
        post: operations["revokeUser"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/workspaces/{WorkspaceId}/documents": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Upserts documents into the workspace's index.
         * @description Each document replaces the one that has its Path. Of a request that fails, some may have been stored.
         */
        put: operations["upsertDocuments"];
        post?: never;
        /**
         * Removes documents, or all under a path ending in /; answers with what was removed.
         * @description A path that names nothing removes nothing. Where one path is refused, nothing is removed.
         */
        delete: operations["removeDocuments"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/workspaces/{WorkspaceId}/search": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * What a turn would be given.
         * @description The best chunks first, by the settings of the default contexts. The warnings embeddings_pending and embeddings_failed say that embeddings are configured and words alone ranked, because there are no vectors yet or the service failed; retrieval_failed, that a retrieval service failed; scope_key_unknown, that no document has a key of the scope.
         */
        post: operations["searchWorkspace"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/workspaces/{WorkspaceId}/compare": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Tells which of a client's documents have to be sent.
         * @description Needed are the listed paths that the index lacks, or has with other contents; Extra are those of the index that are not listed, up to a bound, beyond which the warning extra_cut stands. Language and Properties are not compared. Nothing is written.
         */
        post: operations["compareDocuments"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/workspaces/{WorkspaceId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Counts.
         * @description An unknown workspace is empty. The warning embeddings_failed says that the embeddings service failed and is left alone for a while.
         */
        get: operations["getWorkspace"];
        put?: never;
        post?: never;
        /**
         * Erases the index; answers with what was erased.
         * @description The workspace is empty afterwards, and can be used again.
         */
        delete: operations["eraseWorkspace"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/files/{FileId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * A file that a tool made, by the Url of its FileRef. The link is all that it takes, until it expires.
         * @description The whole file, or the range that is asked for, as an attachment.
         */
        get: operations["getFile"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Liveness, version and stored forms.
         * @description It says nothing of the services behind this one.
         */
        get: operations["health"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/errors": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The error dictionary.
         * @description For each code who has to act, whether repeating helps, and the turn's status afterwards.
         */
        get: operations["errors"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The playground, a page for trying the service.
         * @description Where PLAYGROUND is on.
         */
        get: operations["playground"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/openapi.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * This document.
         * @description With the limits of this deployment.
         */
        get: operations["openapi"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export interface webhooks {
    turn: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Tells a receiver of the operator's that a turn has ended or waits.
         * @description Signed by Standard Webhooks 1.0, at least once, in no order; webhook-id is the same in every attempt.
         */
        post: operations["onTurn"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export interface components {
    schemas: {
        /** @description The client's own id: 1 to 128 of A-Z a-z 0-9 . _ : -, but not . or .. */
        Identifier: string;
        /** @description A Tool Continuation when ToolResults has elements, else a User Turn. */
        ExecuteRequest: components["schemas"]["UserTurn"] | components["schemas"]["ToolContinuation"];
        /** @description Needs a non-empty Instruction, InputArtifacts or ClipboardImages. */
        UserTurn: {
            SessionId: components["schemas"]["Identifier"];
            TurnId: components["schemas"]["Identifier"];
            /** @description Markdown. */
            Instruction?: string | null;
            InputArtifacts?: components["schemas"]["InputArtifact"][] | null;
            ClipboardImages?: components["schemas"]["ClipboardImage"][] | null;
            RagScope?: components["schemas"]["RagScope"] | null;
            /** @description Replaces the session's; absent keeps it, empty clears it. */
            SolutionContextText?: string | null;
            WorkspaceId?: string | null;
            Repo?: string | null;
            Language?: string | null;
            /** @description Deliver as server-sent events. */
            Streaming?: boolean | null;
            AgentContextId?: string | null;
            ConversationContextId?: string | null;
            /** @description A JSON array of at most 512 function tools: {type, name, description?, parameters?, strict?}; the nested form of Chat Completions is taken, too. A name has at most 64, a description 100000 characters. */
            ToolsJson?: string | null;
            /** @description Must name an offered tool; an empty one names none. */
            ToolChoiceName?: string | null;
            /** @description A JSON Schema, an object, of at most 65536 bytes: PrimaryOutputText of this turn is JSON that fits it. */
            OutputSchema?: string | null;
            /** @description Names the schema to the model service; only beside OutputSchema. By default answer. */
            OutputSchemaName?: string | null;
            /** @description An empty list and false count as null. */
            ToolResults?: null;
        };
        InputArtifact: {
            /** @description Relative, without .. segments, folders separated by /. ./a is a. */
            RelativePath: string;
            FileName: string;
            /** @description With the Encoding base64 in its standard alphabet. */
            Contents: string;
            /** @enum {string} */
            Origin: "ide" | "user";
            MimeType?: string | null;
            Language?: string | null;
            /** @enum {string|null} */
            Encoding?: "utf8" | "base64" | null;
        };
        ClipboardImage: {
            Id: string;
            /** @enum {string} */
            MimeType: "image/png" | "image/jpeg" | "image/webp" | "image/gif";
            DataBase64: string;
        };
        /** @description Conditions are ANDed, Values within one are alternatives. */
        RagScope: {
            Conditions: components["schemas"]["RagCondition"][];
        };
        RagCondition: {
            Key: string;
            /** @enum {string} */
            Operator: "==" | "!=" | "contains" | "does_not_contain";
            Values: string[];
        };
        /** @description The results of exactly the pending calls, in their order. */
        ToolContinuation: {
            SessionId: components["schemas"]["Identifier"];
            TurnId: components["schemas"]["Identifier"];
            ToolResults: components["schemas"]["SubmittedToolResult"][];
        };
        /** @description Has either ResultJson or ErrorMessage. */
        SubmittedToolResult: {
            ToolCallId: string;
            ExecutionMs: number;
            /** @description A string that holds JSON. */
            ResultJson?: string | null;
            ErrorMessage?: string | null;
        };
        Entry: {
            ErrorCode: string;
            Message: string;
            /** @description JSON Pointer into the request. */
            Path?: string;
            Details?: components["schemas"]["Details"];
            /** @description Ours or the model service's fault, not the caller's. */
            SystemError: boolean;
        };
        Error: {
            ErrorCode: components["schemas"]["ErrorCode"];
            Message: string;
            /** @description JSON Pointer into the request. */
            Path?: string;
            Details?: components["schemas"]["Details"];
            /** @description Ours or the model service's fault, not the caller's. */
            SystemError: boolean;
        };
        /** @enum {string} */
        ErrorCode: "malformed_json" | "missing_field" | "invalid_field" | "unknown_field" | "forbidden_field" | "empty_turn" | "unauthenticated" | "credential_expired" | "forbidden" | "budget_exceeded" | "not_found" | "session_not_found" | "turn_not_found" | "context_not_found" | "user_not_found" | "method_not_allowed" | "request_timeout" | "turn_conflict" | "turn_in_progress" | "turn_awaiting_tools" | "turn_not_awaiting_tools" | "tool_results_mismatch" | "turn_aborted" | "steer_conflict" | "turn_ended" | "session_exists" | "turn_not_ended" | "body_too_large" | "context_window_exceeded" | "unsupported_media_type" | "rate_limited" | "internal" | "catalog_invalid" | "iteration_limit_exceeded" | "server_tool_failed" | "turn_interrupted" | "upstream_rejected" | "upstream_unavailable" | "upstream_protocol" | "upstream_failed" | "upstream_incomplete" | "overloaded" | "identity_unavailable" | "upstream_timeout";
        Failure: {
            /** @constant */
            Successful: false;
            Errors: components["schemas"]["Error"][];
            Warnings: components["schemas"]["Entry"][];
        };
        Usage: {
            PromptTokens: number;
            CachedTokens: number;
            CompletionTokens: number;
            ReasoningTokens: number;
            TotalTokens: number;
            /**
             * @description A part is estimated: the caller's side has ended a model call before the service named its cost. Absent otherwise.
             * @constant
             */
            Estimated?: true;
        };
        ToolCall: {
            ToolCallId: string;
            Name: string;
            ArgumentsJson: string;
        };
        /** @description Has either ResultJson or ErrorMessage. */
        ToolResult: {
            ToolCallId: string;
            ExecutionMs: number;
            ResultJson?: string;
            ErrorMessage?: string;
        };
        FileRef: {
            Name: string;
            MimeType: string;
            Url: string;
            SizeBytes: number;
            ContentHash: string;
            Description?: string;
            /** Format: date-time */
            ContentExpires?: string;
        };
        AgentExecuteResponse: components["schemas"]["FinalResponse"] | components["schemas"]["ToolContinuationResponse"];
        FinalResponse: {
            /** @constant */
            Kind: "final";
            SessionId: components["schemas"]["Identifier"];
            TurnId: components["schemas"]["Identifier"];
            ModeDisplayName: string;
            PrimaryOutputText: string;
            Files?: components["schemas"]["FileRef"][];
            ToolResults?: components["schemas"]["ToolResult"][];
            UserWarnings?: string[];
            Usage?: components["schemas"]["Usage"];
        };
        ToolContinuationResponse: {
            /** @constant */
            Kind: "client_tool_continuation";
            SessionId: components["schemas"]["Identifier"];
            TurnId: components["schemas"]["Identifier"];
            ModeDisplayName: string;
            ToolCalls: components["schemas"]["ToolCall"][];
            ToolContinuationMessage?: string;
        };
        /** @enum {string} */
        TurnStatus: "running" | "awaiting_tools" | "completed" | "failed" | "aborted";
        TurnSummary: {
            TurnId: components["schemas"]["Identifier"];
            Status: components["schemas"]["TurnStatus"];
            ToolCalls?: components["schemas"]["ToolCall"][];
        };
        Session: {
            SessionId: components["schemas"]["Identifier"];
            ModeDisplayName: string;
            AgentContextId: string;
            ConversationContextId: string;
            /** @description The conversation context that the session's first turn asked for; absent where it is bound to that one. */
            AskedContextId?: string;
            Parent?: components["schemas"]["ForkParent"];
            /** Format: date-time */
            CreatedAt: string;
            /** Format: date-time */
            UpdatedAt: string;
            TurnCount: number;
            /** @description Prompt tokens of the newest model call that told them, summaries aside. */
            ContextTokens?: number;
            LatestTurn?: components["schemas"]["TurnSummary"];
            LiveTurn?: components["schemas"]["TurnSummary"];
        };
        /** @description The session went on under another conversation context with this turn. */
        ContextChange: {
            From: string;
            To: string;
        };
        TurnEntry: {
            TurnId: components["schemas"]["Identifier"];
            Status: components["schemas"]["TurnStatus"];
            /** Format: date-time */
            StartedAt: string;
            /** Format: date-time */
            UpdatedAt: string;
            Usage?: components["schemas"]["Usage"];
        };
        Turns: {
            SessionId: components["schemas"]["Identifier"];
            Turns: components["schemas"]["TurnEntry"][];
            More: boolean;
        };
        Turn: {
            SessionId: components["schemas"]["Identifier"];
            TurnId: components["schemas"]["Identifier"];
            Status: components["schemas"]["TurnStatus"];
            Streaming: boolean;
            /** Format: date-time */
            StartedAt: string;
            /** Format: date-time */
            UpdatedAt: string;
            /** Format: date-time */
            EndedAt?: string;
            Attempts: number;
            ModelCalls: number;
            Usage?: components["schemas"]["Usage"];
            ToolCalls?: components["schemas"]["ToolCall"][];
            Steers?: components["schemas"]["Steer"][];
            TextSoFar?: string;
            Outcome?: components["schemas"]["Outcome"];
        };
        ModeChange: {
            PreviousMode: string;
            NewMode: string;
            /** Format: date-time */
            Timestamp: string;
            Reason: string;
            TurnId: components["schemas"]["Identifier"];
            /** @description The model called it a branch of the conversation. */
            Branch: boolean;
        };
        Modes: {
            SessionId: components["schemas"]["Identifier"];
            ModeDisplayName: string;
            History: components["schemas"]["ModeChange"][];
        };
        ForkRequest: {
            /** @description The new session; also the idempotency key. */
            SessionId: components["schemas"]["Identifier"];
            /** @description The last turn that the new session has; by default the newest that has ended. */
            AfterTurnId?: components["schemas"]["Identifier"] | null;
            /** @description The context under which the new session goes on; by default that of its parent. */
            ConversationContextId?: string | null;
        };
        ForkResult: {
            SessionId: components["schemas"]["Identifier"];
            ParentSessionId: components["schemas"]["Identifier"];
            AfterTurnId: components["schemas"]["Identifier"];
            /** @description Their number. */
            Turns: number;
        };
        /** @description Where a fork comes from; absent of any other session. */
        ForkParent: {
            SessionId: components["schemas"]["Identifier"];
            TurnId: components["schemas"]["Identifier"];
        };
        /** @description Needs a non-empty Instruction, InputArtifacts or ClipboardImages. It adds words, and changes no setting of the turn. */
        SteerRequest: {
            /** @description Unique within the turn; the idempotency key. */
            SteerId: components["schemas"]["Identifier"];
            /** @description Markdown. */
            Instruction?: string | null;
            InputArtifacts?: components["schemas"]["InputArtifact"][] | null;
            ClipboardImages?: components["schemas"]["ClipboardImage"][] | null;
            /** @description Drop the model call under way, and make it again with the steer. */
            Interrupt?: boolean | null;
        };
        /** @enum {string} */
        SteerState: "pending" | "delivered" | "kept" | "refused";
        SteerResult: {
            SessionId: components["schemas"]["Identifier"];
            TurnId: components["schemas"]["Identifier"];
            SteerId: components["schemas"]["Identifier"];
            State: components["schemas"]["SteerState"];
        };
        Steer: {
            SteerId: components["schemas"]["Identifier"];
            /** Format: date-time */
            AcceptedAt: string;
            State: components["schemas"]["SteerState"];
            /** @description The turn's model call that took it, from 0; only calls whose output was kept count. */
            ModelCall?: number;
        };
        TracedSteer: {
            SteerId: components["schemas"]["Identifier"];
            /** Format: date-time */
            AcceptedAt: string;
            State: components["schemas"]["SteerState"];
            /** @description The turn's model call that took it, from 0; only calls whose output was kept count. */
            ModelCall?: number;
            /** @description From its acceptance to that call. */
            WaitedMs?: number;
            /** @description A model call was dropped for it. */
            Interrupted: boolean;
            Caller?: components["schemas"]["Caller"];
        };
        Trace: {
            SessionId: components["schemas"]["Identifier"];
            TurnId: components["schemas"]["Identifier"];
            Status: components["schemas"]["TurnStatus"];
            Attempts: number;
            /** @description The trace of the latest run, where the runtime told it. */
            TraceId?: string;
            /** @description The trace of the client, by the newest traceparent that the turn was sent. */
            CallerTraceId?: string;
            /** @description The user turn first, then its tool continuations. */
            Submissions: components["schemas"]["TracedSubmission"][];
            Composition: unknown;
            ModelCalls: components["schemas"]["ModelCall"][];
            ToolCalls: components["schemas"]["TracedCall"][];
            Steers?: components["schemas"]["TracedSteer"][];
            ContextChanged?: components["schemas"]["ContextChange"];
            ModeChanges: components["schemas"]["ModeChange"][];
            Compactions: components["schemas"]["Compaction"][];
            /** @description The messages about this turn; absent where nobody is told. */
            Webhooks?: components["schemas"]["TracedWebhook"][];
            /** @description What a running turn is at: the newest progress event of a step, and since when. */
            Running?: {
                Kind: string;
                /** Format: date-time */
                Since: string;
            };
        };
        Compaction: {
            /** @enum {string} */
            Reason: "threshold" | "refused" | "service";
            ItemsBefore: number;
            ItemsAfter: number;
            TurnsLeftOut: number;
            SummaryBytes: number;
            Usage?: components["schemas"]["Usage"];
        };
        ModelCall: {
            /** Format: date-time */
            StartedAt: string;
            /** @description The agent context whose model service was called, where others can take over from the first. */
            Service?: string;
            /**
             * @description How far the conversation is reduced, because the model service refused more of it.
             * @enum {string}
             */
            Reduced?: "whole" | "items" | "plain" | "turn";
            /** @description The response holds a call that nobody answers, so no call continues it. */
            Unanswered?: boolean;
        };
        /** @enum {string} */
        Decision: "approved" | "refused";
        /** @description Where a tool of an MCP server is called. */
        McpTool: {
            /** @description Its key in the catalog. */
            Server: string;
            /** @description The tool's own name. */
            Tool: string;
            /**
             * @description Of the protocol.
             * @enum {string}
             */
            Era: "modern" | "legacy" | "";
        };
        TracedCall: {
            ModelCall: number;
            ToolCallId: string;
            Name: string;
            /** @enum {string} */
            RunsOn: "server" | "client" | "nobody";
            /** @description Absent where no human was asked. */
            Approval?: {
                Decision?: components["schemas"]["Decision"];
                WaitedMs?: number;
                Edited: boolean;
                /** @description Who sent the decision: key:…, user:… or actor:… */
                DecidedBy?: string;
            };
            ExecutionMs?: number;
            Successful?: boolean;
            /** @description Of the result, or of the error. */
            ResultBytes?: number;
            /** @description Calls with the same number ran at once; absent of a call that ran alone. */
            ParallelGroup?: number;
            Mcp?: components["schemas"]["McpTool"];
        };
        Export: {
            SessionId: components["schemas"]["Identifier"];
            /** Format: date-time */
            CreatedAt: string;
            /** Format: date-time */
            UpdatedAt: string;
            AgentContextId: string;
            ConversationContextId: string;
            /** @description The conversation context that the session's first turn asked for; absent where it is bound to that one. */
            AskedContextId?: string;
            Parent?: components["schemas"]["ForkParent"];
            Mode: string;
            /** @description Definitions as the model service takes them. */
            ClientTools?: Record<string, never>[];
            SolutionContextText?: string;
            ResponseContinuationId?: string;
            ModeHistory: components["schemas"]["ModeChange"][];
            /** @description What decides how turns go on, as it was when the export was made; absent without a valid catalog that has the agent context. */
            Catalog?: {
                ResendTools: boolean;
                MaxIterations: number;
                Budget: {
                    TurnTokens?: number;
                    SessionTokens?: number;
                    UserTokensPerDay?: number;
                    UserTokensPerMonth?: number;
                };
                Compaction: {
                    /** @enum {string} */
                    By: "Own" | "Service" | "None";
                    Threshold?: number;
                };
                OfferHostedTools?: boolean;
                Fallbacks?: {
                    AgentContextId: string;
                    ResendTools: boolean;
                    OfferHostedTools: boolean;
                }[];
                Modes: {
                    Key: string;
                    DisplayName: string;
                    WhenToUse: string;
                    WelcomeMessage: string;
                }[];
            };
            Turns: components["schemas"]["ExportedTurn"][];
            /** @description Texts that model calls refer to by their SHA-256. */
            Texts: {
                [key: string]: string;
            };
        };
        ExportedTurn: {
            TurnId: components["schemas"]["Identifier"];
            Status: components["schemas"]["TurnStatus"];
            Streaming: boolean;
            /** Format: date-time */
            StartedAt: string;
            /** Format: date-time */
            UpdatedAt: string;
            Attempts: number;
            Tools: {
                Name: string;
                OnServer: boolean;
                /** @description The model service runs it by itself. Absent: false. */
                Hosted?: boolean;
                /** @description How a human is asked before the server runs it. */
                Approval?: {
                    AllowEdit: boolean;
                    Message?: string;
                    /**
                     * @description Who may answer. Absent: whoever may answer a call.
                     * @enum {string}
                     */
                    By?: "Actor" | "Key";
                };
                /** @description Calls of it may run beside others that may. */
                Parallel?: boolean;
                Mcp?: components["schemas"]["McpTool"];
                /** @description As the model service takes it. */
                Definition: Record<string, never>;
            }[];
            Composition: unknown;
            ToolChoiceName?: string;
            OutputSchema?: Record<string, never>;
            OutputSchemaName?: string;
            ContextChanged?: components["schemas"]["ContextChange"];
            SaidWithCalls?: string;
            TextSoFar?: string;
            Usage?: components["schemas"]["Usage"];
            UserWarnings?: string[];
            Warnings?: components["schemas"]["Entry"][];
            Submissions: {
                Fingerprint: string;
                /** Format: date-time */
                AcceptedAt: string;
                Caller?: components["schemas"]["Caller"];
                Catalog?: components["schemas"]["CatalogStamp"];
                HttpStatus?: number;
                Outcome?: Record<string, never>;
            }[];
            Steers?: {
                SteerId: components["schemas"]["Identifier"];
                Fingerprint: string;
                /** Format: date-time */
                AcceptedAt: string;
                Caller?: components["schemas"]["Caller"];
                State: components["schemas"]["SteerState"];
                Interrupted: boolean;
                ModelCall?: number;
                /** @description Its entry in Conversation. */
                Sequence?: number;
                Instruction?: string;
                InputArtifacts?: Record<string, never>[];
                ClipboardImages?: Record<string, never>[];
            }[];
            Conversation: {
                Sequence: number;
                /** @enum {string} */
                Kind: "system" | "user" | "answer" | "tool_outputs" | "steer" | "stand_in";
                /** @enum {string} */
                Standing: "kept" | "withheld" | "forgotten";
                Items: Record<string, never>[];
            }[];
            ModelCalls: components["schemas"]["ModelCall"][];
            ToolCalls: {
                ModelCall: number;
                CallId: string;
                ToolCallId: string;
                Name: string;
                ArgumentsJson: string;
                /** @enum {string} */
                RunsOn: "server" | "client" | "nobody";
                /** @description The question to a human, and the answer. Absent where nobody was asked. */
                Approval?: {
                    AllowEdit: boolean;
                    Message?: string;
                    Decision?: components["schemas"]["Decision"];
                    DecidedBy?: string;
                    WaitedMs?: number;
                    /** @description The human's arguments in place of the model's. */
                    ArgumentsJson?: string;
                };
                Answer?: components["schemas"]["ToolResult"];
            }[];
        };
        /** @description 1 to 128 bytes of UTF-8, without control characters and without white space at either end, but not . or .. */
        User: string;
        /** @enum {string} */
        Operation: "Execute" | "Answer" | "Approve" | "Watch" | "Read" | "Cancel" | "List" | "Rename" | "Search" | "Trace" | "Export" | "Erase";
        TicketRequest: {
            User?: components["schemas"]["User"] | null;
            /** @description Who uses the ticket, where that is not the user. */
            Actor?: components["schemas"]["User"] | null;
            /** @description Ids; one * at the end stands for any rest. Absent: all of the user's. */
            Sessions?: string[] | null;
            Turns?: components["schemas"]["Identifier"][] | null;
            /** @description Default: Execute, Answer, Approve, Watch, Read, Cancel, List, Rename. */
            Operations?: components["schemas"]["Operation"][] | null;
            /** @description Those that may be searched. Absent: none. */
            Workspaces?: string[] | null;
            /** @description Conversation contexts that a session's first turn may name. */
            Contexts?: string[] | null;
            TurnTokens?: number | null;
            /** @description Origins of the pages that may use the ticket. */
            Origins?: string[] | null;
            /** @description Default: 600. Of a ticket that narrows itself, its own end at most. */
            ExpiresInS?: number | null;
        };
        Ticket: {
            Ticket: string;
            TicketId: string;
            /** Format: date-time */
            ExpiresAt: string;
            User: components["schemas"]["User"];
            Operations: components["schemas"]["Operation"][];
        };
        /** @description Who sent a submission. */
        Caller: {
            Key?: string;
            Provider?: string;
            Ticket?: string;
            User?: components["schemas"]["User"];
            Actor?: components["schemas"]["User"];
        };
        TracedSubmission: {
            /** Format: date-time */
            AcceptedAt: string;
            Caller?: components["schemas"]["Caller"];
            Catalog?: components["schemas"]["CatalogStamp"];
        };
        /** @description The catalog that a submission ran under. */
        CatalogStamp: {
            /** @description The first 16 hex digits of the SHA-256 of its document. */
            Sha256: string;
            /** @description What the document says of itself. */
            Version?: string;
        };
        /** @description Responses that the model service may have stored, each counted once; absent unless an agent context of the session says DeleteStored or is gone. */
        StoredResponses: {
            Deleted: number;
            Pending: number;
            Refused: number;
            Unreachable: number;
            /** @description Attempts at model calls that were cut before the id of their response was known: each may have left one. */
            Unknown: number;
        };
        /** @enum {string} */
        SessionStatus: "running" | "awaiting_tools" | "awaiting_approval" | "idle" | "failed";
        /** @description A session in the list of its user. */
        SessionEntry: {
            SessionId: components["schemas"]["Identifier"];
            /** @description Of the first instruction that has words, unless a client has set it; empty where the catalog says so, or no turn had one. */
            Title: string;
            /** Format: date-time */
            CreatedAt: string;
            /** Format: date-time */
            ActiveAt: string;
            ModeDisplayName: string;
            Status: components["schemas"]["SessionStatus"];
            Turns: number;
            Tokens: number;
            /** @description What a paused turn waits for; absent while none is paused. */
            Waiting?: {
                TurnId: components["schemas"]["Identifier"];
                /** Format: date-time */
                Since: string;
                /** @description The tools whose calls wait, at most 20; of a question, the tool that it is about. */
                Tools: string[];
            };
        };
        SessionList: {
            Sessions: components["schemas"]["SessionEntry"][];
            /** @description There are more sessions: ask again with this as After. */
            Next?: string;
        };
        RenameRequest: {
            Title: string;
        };
        UserView: {
            User: components["schemas"]["User"];
            Sessions: {
                Total: number;
                Running: number;
                AwaitingTools: number;
                AwaitingApproval: number;
                Idle: number;
                Failed: number;
                /** @description Sessions that are being erased; in no other count. */
                Erasing: number;
            };
            /** @description What counts as spent, leases included; absent where no budget has bounded the user's tokens. */
            Tokens?: {
                Today: number;
                ThisMonth: number;
                /** @description Sessions that have a lease. */
                Leases: number;
                /** @description The tokens of the leases. */
                Leased: number;
            };
            /** @description The agent contexts that bound a user's tokens. */
            Budgets?: {
                AgentContextId: string;
                UserTokensPerDay?: number;
                UserTokensPerMonth?: number;
            }[];
            /**
             * Format: date-time
             * @description What was issued before is void; absent where nothing is.
             */
            TicketsBefore?: string;
        };
        Revocation: {
            User: components["schemas"]["User"];
            /** Format: date-time */
            TicketsBefore: string;
            /** @description The sessions that know. */
            Sessions: number;
        };
        UserErasureReceipt: {
            User: components["schemas"]["User"];
            /** Format: date-time */
            StartedAt: string;
            /** Format: date-time */
            CompletedAt?: string;
            Sessions: {
                Erased: number;
                /** @description Still to be erased; an alarm sees to it. */
                Pending: number;
                /** @description Those of the pending ones whose latest attempt failed. */
                Failed: number;
            };
            /** @description Turns, submissions, conversation entries, model calls, tool calls and mode changes of the erased sessions. */
            Rows: number;
            Files: number;
            StoredResponses?: components["schemas"]["StoredResponses"];
            /**
             * Format: date-time
             * @description What was issued to the user before is void.
             */
            TicketsBefore: string;
            Kept: ("workspaces" | "logs")[];
        };
        ErasureReceipt: {
            SessionId: components["schemas"]["Identifier"];
            /** Format: date-time */
            ErasedAt: string;
            Turns: number;
            Submissions: number;
            ConversationEntries: number;
            ModelCalls: number;
            ToolCalls: number;
            ModeChanges: number;
            Files: number;
            StoredResponses?: components["schemas"]["StoredResponses"];
        };
        UpsertRequest: {
            Documents: components["schemas"]["Document"][];
        };
        Document: {
            /** @description Relative, without .. segments, folders separated by /; names the document. ./a is a. */
            Path: string;
            Contents: string;
            Language?: string | null;
            /** @description 256 values in all, and 16384 bytes of names and values. */
            Properties?: {
                [key: string]: string | string[];
            } | null;
        };
        Upserted: {
            Documents: {
                Path: string;
                Chunks: number;
                ContentHash: string;
                Sha256: components["schemas"]["Sha256"];
                /** @description Whether it was indexed anew. */
                Changed: boolean;
            }[];
        };
        CompareRequest: {
            Documents: components["schemas"]["ListedDocument"][];
        };
        ListedDocument: {
            Path: string;
            Sha256: components["schemas"]["Sha256"];
        };
        /** @description Of the Contents in UTF-8, lower-case hex. */
        Sha256: string;
        Comparison: {
            Needed: string[];
            Extra: string[];
        };
        SearchRequest: {
            Query: string;
            RagScope?: components["schemas"]["RagScope"] | null;
            Limit?: number | null;
        };
        Found: {
            Chunks: {
                Path: string;
                StartLine: number;
                EndLine: number;
                Language: string;
                Text: string;
                /** @description Absent from what a retrieval service found. */
                Score?: number;
                /** @description Score is Chunk plus Document, and a quarter of that for each better chunk of the same document. */
                Explain?: {
                    Chunk: number;
                    Document: number;
                    Place: number;
                    /** @description The cosine of the best part's vector and the query's, where it is among the nearest. */
                    Similarity?: number;
                    Terms: {
                        Term: string;
                        Score: number;
                        Fields: ("Text" | "Comments" | "Path")[];
                    }[];
                };
            }[];
        };
        Removal: {
            Documents: number;
            Chunks: number;
            Bytes: number;
            /** @description What each path removed, in the order of the request. Only of a request with several. */
            Removed?: {
                /** @description As it was sent. */
                Path: string;
                Documents: number;
                Chunks: number;
                Bytes: number;
            }[];
        };
        WorkspaceCounts: {
            Documents: number;
            Chunks: number;
            Bytes: number;
            /** @description The chunks that have their vectors, by the model of the default contexts where these have one. Only in counts of what is there, and where the catalog has embeddings. */
            EmbeddedChunks?: number;
        };
        Health: {
            /** @constant */
            Status: "ok";
            Version: string;
            /** @description The commit of the build; -dirty behind it where the checkout had changes of its own. null where the build was told none. */
            Commit: string | null;
            /** @description The numbers of the forms in which this version stores. */
            Forms: {
                Session: number;
                Workspace: number;
                User: number;
            };
        };
        ErrorDictionary: {
            ErrorCode: components["schemas"]["ErrorCode"];
            HttpStatus: number;
            Meaning: string;
            /** @enum {string} */
            WhoActs: "client" | "operator" | "nobody";
            Retryable: boolean;
            TurnStatusAfter: components["schemas"]["TurnStatus"] | null;
        }[];
        /** @description The answer to a submission. */
        Outcome: components["schemas"]["ExecuteResult"] | components["schemas"]["Failure"];
        ExecuteResult: {
            /** @constant */
            Successful: true;
            Result: components["schemas"]["AgentExecuteResponse"];
            Errors: components["schemas"]["Error"][];
            Warnings: components["schemas"]["Entry"][];
        };
        AcceptedTurn: {
            SessionId: components["schemas"]["Identifier"];
            TurnId: components["schemas"]["Identifier"];
            /** @constant */
            Status: "running";
        };
        AcceptedResult: {
            /** @constant */
            Successful: true;
            Result: components["schemas"]["AcceptedTurn"];
            Errors: components["schemas"]["Error"][];
            Warnings: components["schemas"]["Entry"][];
        };
        TracedWebhook: {
            /** @description Its name in the catalog. */
            Webhook: string;
            Event: components["schemas"]["WebhookEvent"];
            /** @enum {string} */
            State: "pending" | "delivered" | "failed";
            Attempts: number;
            /** @description Absent where no attempt got a response. */
            LastStatus?: number;
        };
        /** @description Server-sent events, as they are written; the result comes last, exactly once. */
        EventStream: string;
        /** @description A piece of the text: the data of an output_text.delta event. */
        OutputTextDelta: {
            Segment: number;
            Delta: string;
        };
        /** @description A segment's text is no part of the final one: the data of an output_text.discard event. */
        OutputTextDiscard: {
            Segment: number;
        };
        /** @description What a turn is at: the data of a progress event, live only, never replayed, no part of the result. */
        Progress: components["schemas"]["ModelCallProgress"] | components["schemas"]["ReasoningProgress"] | components["schemas"]["CommentaryProgress"] | components["schemas"]["ServerToolProgress"] | components["schemas"]["ModeProgress"] | components["schemas"]["RetryProgress"] | components["schemas"]["CompactionProgress"] | components["schemas"]["SteerProgress"];
        /** @description The submission's next model call begins. */
        ModelCallProgress: {
            /** @constant */
            Kind: "model_call";
            Iteration: number;
        };
        /** @description A piece of the reasoning's summary. */
        ReasoningProgress: {
            /** @constant */
            Kind: "reasoning";
            Text: string;
        };
        /** @description A piece of the model's commentary. */
        CommentaryProgress: {
            /** @constant */
            Kind: "commentary";
            Text: string;
        };
        /** @description A server tool begins, or has ended. */
        ServerToolProgress: {
            /** @constant */
            Kind: "server_tool";
            ToolCallId: string;
            Name: string;
            /** @enum {string} */
            State: "started" | "finished";
            /** @description Whether a finished call gave a result rather than an error. */
            Successful?: boolean;
            ExecutionMs?: number;
        };
        /** @description The session is in another mode. */
        ModeProgress: {
            /** @constant */
            Kind: "mode";
            ModeDisplayName: string;
        };
        /** @description A model call failed, and is made again or read on. */
        RetryProgress: {
            /** @constant */
            Kind: "retry";
            AfterMs: number;
            /** @description How often the call's background response has been read on; absent where the call is made again. */
            Resumed?: number;
            /**
             * @description Another model service takes the call over.
             * @constant
             */
            Fallback?: true;
        };
        /** @description The conversation is being compacted. */
        CompactionProgress: {
            /** @constant */
            Kind: "compaction";
        };
        /** @description A steer was accepted, or a model call takes it. */
        SteerProgress: {
            /** @constant */
            Kind: "steer";
            SteerId: components["schemas"]["Identifier"];
            /** @enum {string} */
            State: "accepted" | "delivered";
        };
        /** @enum {string} */
        WebhookEvent: "turn.completed" | "turn.failed" | "turn.aborted" | "turn.awaiting_tools";
        WebhookMessage: {
            type: components["schemas"]["WebhookEvent"];
            /**
             * Format: date-time
             * @description When the event happened.
             */
            timestamp: string;
            data: {
                SessionId: components["schemas"]["Identifier"];
                TurnId: components["schemas"]["Identifier"];
                Tenant: string;
                User?: components["schemas"]["User"];
                Status: components["schemas"]["TurnStatus"];
                /** @description Absent of a failed or aborted turn. */
                Kind?: string;
                ErrorCode?: components["schemas"]["ErrorCode"];
                /** @description What a paused turn waits for. */
                ToolCalls?: {
                    ToolCallId: string;
                    Name: string;
                }[];
                Outcome?: components["schemas"]["Outcome"];
            };
        };
        /** @description What a program needs of the message. */
        Details: Record<string, never>;
    };
    responses: {
        /** @description What is wrong, and what helps. */
        Failure: {
            headers: {
                "Aptix-Request-Id": components["headers"]["RequestId"];
                /** @description With 429 and 503, and when the model service asks to wait: seconds to wait. */
                "Retry-After"?: string;
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Failure"];
            };
        };
    };
    parameters: {
        SessionId: components["schemas"]["Identifier"];
        TurnId: components["schemas"]["Identifier"];
        WorkspaceId: string;
        User: components["schemas"]["User"];
        /** @description The stream goes on behind this position. */
        LastEventId: string;
        /** @description true: the stream also has progress events, live only and without an id. */
        Progress: boolean;
        /** @description Where the request stands in its client's trace (W3C Trace Context). A malformed one is ignored. */
        TraceParent: string;
        /** @description Handed on with traceparent. */
        TraceState: string;
        /** @description respond-async (RFC 7240): the answer is 202 as soon as the submission is stored. */
        Prefer: string;
    };
    requestBodies: never;
    headers: {
        /** @description The request's id, which the service's log names: the client's own from this header, where it has the form, else a new one. */
        RequestId: string;
    };
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    execute: {
        parameters: {
            query?: {
                /** @description true: the stream also has progress events, live only and without an id. */
                Progress?: components["parameters"]["Progress"];
            };
            header?: {
                /** @description The stream goes on behind this position. */
                "Last-Event-ID"?: components["parameters"]["LastEventId"];
                /** @description respond-async (RFC 7240): the answer is 202 as soon as the submission is stored. */
                Prefer?: components["parameters"]["Prefer"];
                /** @description Where the request stands in its client's trace (W3C Trace Context). A malformed one is ignored. */
                traceparent?: components["parameters"]["TraceParent"];
                /** @description Handed on with traceparent. */
                tracestate?: components["parameters"]["TraceState"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ExecuteRequest"];
            };
        };
        responses: {
            /** @description The result. */
            200: {
                headers: {
                    "Aptix-Request-Id": components["headers"]["RequestId"];
                    /** @description true: the answer was given before. */
                    "Idempotent-Replayed"?: "true";
                    /** @description Milliseconds, by step. */
                    "Server-Timing"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ExecuteResult"];
                    "text/event-stream": components["schemas"]["EventStream"];
                };
            };
            /** @description The submission is stored and runs; sent with Prefer: respond-async. */
            202: {
                headers: {
                    "Aptix-Request-Id": components["headers"]["RequestId"];
                    /** @description Where the turn is read. */
                    Location?: string;
                    /** @description The preference that was followed. */
                    "Preference-Applied"?: "respond-async";
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AcceptedResult"];
                };
            };
            "4XX": components["responses"]["Failure"];
            "5XX": components["responses"]["Failure"];
        };
    };
    listSessions: {
        parameters: {
            query?: {
                /** @description Next of the page before, in the same Order. */
                After?: string;
                Limit?: number;
                /** @description Only sessions in this status: awaiting_approval is a human's inbox. */
                Status?: components["schemas"]["SessionStatus"];
                /** @description Only sessions whose title has this text; letters of ASCII are compared without case. */
                Query?: string;
                /** @description By the time of the latest activity, or of the first turn. */
                Order?: "Activity" | "Created";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The result. */
            200: {
                headers: {
                    "Aptix-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        Successful: true;
                        Result: components["schemas"]["SessionList"];
                        Errors: components["schemas"]["Error"][];
                        Warnings: components["schemas"]["Entry"][];
                    };
                };
            };
            "4XX": components["responses"]["Failure"];
            "5XX": components["responses"]["Failure"];
        };
    };
    getSession: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                SessionId: components["parameters"]["SessionId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The result. */
            200: {
                headers: {
                    "Aptix-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        Successful: true;
                        Result: components["schemas"]["Session"];
                        Errors: components["schemas"]["Error"][];
                        Warnings: components["schemas"]["Entry"][];
                    };
                };
            };
            "4XX": components["responses"]["Failure"];
            "5XX": components["responses"]["Failure"];
        };
    };
    eraseSession: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                SessionId: components["parameters"]["SessionId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The result. */
            200: {
                headers: {
                    "Aptix-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        Successful: true;
                        Result: components["schemas"]["ErasureReceipt"];
                        Errors: components["schemas"]["Error"][];
                        Warnings: components["schemas"]["Entry"][];
                    };
                };
            };
            "4XX": components["responses"]["Failure"];
            "5XX": components["responses"]["Failure"];
        };
    };
    renameSession: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                SessionId: components["parameters"]["SessionId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RenameRequest"];
            };
        };
        responses: {
            /** @description The session, as the list shows it. */
            200: {
                headers: {
                    "Aptix-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        Successful: true;
                        Result: components["schemas"]["SessionEntry"];
                        Errors: components["schemas"]["Error"][];
                        Warnings: components["schemas"]["Entry"][];
                    };
                };
            };
            "4XX": components["responses"]["Failure"];
            "5XX": components["responses"]["Failure"];
        };
    };
    listTurns: {
        parameters: {
            query?: {
                /** @description Only turns after this one. */
                After?: components["schemas"]["Identifier"];
                Limit?: number;
            };
            header?: never;
            path: {
                SessionId: components["parameters"]["SessionId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The result. */
            200: {
                headers: {
                    "Aptix-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        Successful: true;
                        Result: components["schemas"]["Turns"];
                        Errors: components["schemas"]["Error"][];
                        Warnings: components["schemas"]["Entry"][];
                    };
                };
            };
            "4XX": components["responses"]["Failure"];
            "5XX": components["responses"]["Failure"];
        };
    };
    getTurn: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                SessionId: components["parameters"]["SessionId"];
                TurnId: components["parameters"]["TurnId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The result. */
            200: {
                headers: {
                    "Aptix-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        Successful: true;
                        Result: components["schemas"]["Turn"];
                        Errors: components["schemas"]["Error"][];
                        Warnings: components["schemas"]["Entry"][];
                    };
                };
            };
            "4XX": components["responses"]["Failure"];
            "5XX": components["responses"]["Failure"];
        };
    };
    streamTurn: {
        parameters: {
            query?: {
                /** @description true: the stream also has progress events, live only and without an id. */
                Progress?: components["parameters"]["Progress"];
                /** @description For an EventSource, which sends no header: a ticket for Watch alone, for this session and this turn, that ends within 60 s. */
                Ticket?: string;
                /** @description As Last-Event-ID, for an EventSource. */
                After?: string;
            };
            header?: {
                /** @description The stream goes on behind this position. */
                "Last-Event-ID"?: components["parameters"]["LastEventId"];
            };
            path: {
                SessionId: components["parameters"]["SessionId"];
                TurnId: components["parameters"]["TurnId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The turn, as it runs or as it ended. */
            200: {
                headers: {
                    "Aptix-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": components["schemas"]["EventStream"];
                };
            };
            /** @description Last-Event-ID was that of the result: there is no more, and an EventSource stops. */
            204: {
                headers: {
                    "Aptix-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            "4XX": components["responses"]["Failure"];
            "5XX": components["responses"]["Failure"];
        };
    };
    traceTurn: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                SessionId: components["parameters"]["SessionId"];
                TurnId: components["parameters"]["TurnId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The result. */
            200: {
                headers: {
                    "Aptix-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        Successful: true;
                        Result: components["schemas"]["Trace"];
                        Errors: components["schemas"]["Error"][];
                        Warnings: components["schemas"]["Entry"][];
                    };
                };
            };
            "4XX": components["responses"]["Failure"];
            "5XX": components["responses"]["Failure"];
        };
    };
    steerTurn: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                SessionId: components["parameters"]["SessionId"];
                TurnId: components["parameters"]["TurnId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SteerRequest"];
            };
        };
        responses: {
            /** @description The same steer came before; its state as of now. */
            200: {
                headers: {
                    "Aptix-Request-Id": components["headers"]["RequestId"];
                    "Idempotent-Replayed"?: "true";
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        Successful: true;
                        Result: components["schemas"]["SteerResult"];
                        Errors: components["schemas"]["Error"][];
                        Warnings: components["schemas"]["Entry"][];
                    };
                };
            };
            /** @description The steer is accepted, durably. */
            202: {
                headers: {
                    "Aptix-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        Successful: true;
                        Result: components["schemas"]["SteerResult"];
                        Errors: components["schemas"]["Error"][];
                        Warnings: components["schemas"]["Entry"][];
                    };
                };
            };
            "4XX": components["responses"]["Failure"];
            "5XX": components["responses"]["Failure"];
        };
    };
    forkSession: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                SessionId: components["parameters"]["SessionId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ForkRequest"];
            };
        };
        responses: {
            /** @description The new session is whole and durable. */
            201: {
                headers: {
                    "Aptix-Request-Id": components["headers"]["RequestId"];
                    "Idempotent-Replayed"?: "true";
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        Successful: true;
                        Result: components["schemas"]["ForkResult"];
                        Errors: components["schemas"]["Error"][];
                        Warnings: components["schemas"]["Entry"][];
                    };
                };
            };
            "4XX": components["responses"]["Failure"];
            "5XX": components["responses"]["Failure"];
        };
    };
    cancelTurn: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                SessionId: components["parameters"]["SessionId"];
                TurnId: components["parameters"]["TurnId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The result. */
            200: {
                headers: {
                    "Aptix-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        Successful: true;
                        Result: components["schemas"]["Turn"];
                        Errors: components["schemas"]["Error"][];
                        Warnings: components["schemas"]["Entry"][];
                    };
                };
            };
            "4XX": components["responses"]["Failure"];
            "5XX": components["responses"]["Failure"];
        };
    };
    listModes: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                SessionId: components["parameters"]["SessionId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The result. */
            200: {
                headers: {
                    "Aptix-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        Successful: true;
                        Result: components["schemas"]["Modes"];
                        Errors: components["schemas"]["Error"][];
                        Warnings: components["schemas"]["Entry"][];
                    };
                };
            };
            "4XX": components["responses"]["Failure"];
            "5XX": components["responses"]["Failure"];
        };
    };
    exportSession: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                SessionId: components["parameters"]["SessionId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The result. */
            200: {
                headers: {
                    "Aptix-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        Successful: true;
                        Result: components["schemas"]["Export"];
                        Errors: components["schemas"]["Error"][];
                        Warnings: components["schemas"]["Entry"][];
                    };
                };
            };
            "4XX": components["responses"]["Failure"];
            "5XX": components["responses"]["Failure"];
        };
    };
    mintTicket: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TicketRequest"];
            };
        };
        responses: {
            /** @description The ticket. */
            200: {
                headers: {
                    "Aptix-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        Successful: true;
                        Result: components["schemas"]["Ticket"];
                        Errors: components["schemas"]["Error"][];
                        Warnings: components["schemas"]["Entry"][];
                    };
                };
            };
            "4XX": components["responses"]["Failure"];
            "5XX": components["responses"]["Failure"];
        };
    };
    getUser: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                User: components["parameters"]["User"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The result. */
            200: {
                headers: {
                    "Aptix-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        Successful: true;
                        Result: components["schemas"]["UserView"];
                        Errors: components["schemas"]["Error"][];
                        Warnings: components["schemas"]["Entry"][];
                    };
                };
            };
            "4XX": components["responses"]["Failure"];
            "5XX": components["responses"]["Failure"];
        };
    };
    eraseUser: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                User: components["parameters"]["User"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The result. */
            200: {
                headers: {
                    "Aptix-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        Successful: true;
                        Result: components["schemas"]["UserErasureReceipt"];
                        Errors: components["schemas"]["Error"][];
                        Warnings: components["schemas"]["Entry"][];
                    };
                };
            };
            "4XX": components["responses"]["Failure"];
            "5XX": components["responses"]["Failure"];
        };
    };
    revokeUser: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                User: components["parameters"]["User"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The result. */
            200: {
                headers: {
                    "Aptix-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        Successful: true;
                        Result: components["schemas"]["Revocation"];
                        Errors: components["schemas"]["Error"][];
                        Warnings: components["schemas"]["Entry"][];
                    };
                };
            };
            "4XX": components["responses"]["Failure"];
            "5XX": components["responses"]["Failure"];
        };
    };
    upsertDocuments: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                WorkspaceId: components["parameters"]["WorkspaceId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UpsertRequest"];
            };
        };
        responses: {
            /** @description The result. */
            200: {
                headers: {
                    "Aptix-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        Successful: true;
                        Result: components["schemas"]["Upserted"];
                        Errors: components["schemas"]["Error"][];
                        Warnings: components["schemas"]["Entry"][];
                    };
                };
            };
            "4XX": components["responses"]["Failure"];
            "5XX": components["responses"]["Failure"];
        };
    };
    removeDocuments: {
        parameters: {
            query: {
                /** @description A document, or a folder with a / at its end. A plus sign is one where there is such a document, else a blank; %2B is a plus sign always. */
                Path: string[];
            };
            header?: never;
            path: {
                WorkspaceId: components["parameters"]["WorkspaceId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The result. */
            200: {
                headers: {
                    "Aptix-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        Successful: true;
                        Result: components["schemas"]["Removal"];
                        Errors: components["schemas"]["Error"][];
                        Warnings: components["schemas"]["Entry"][];
                    };
                };
            };
            "4XX": components["responses"]["Failure"];
            "5XX": components["responses"]["Failure"];
        };
    };
    searchWorkspace: {
        parameters: {
            query?: {
                /** @description true: each chunk of the index also says what made its score. */
                Explain?: boolean;
            };
            header?: never;
            path: {
                WorkspaceId: components["parameters"]["WorkspaceId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SearchRequest"];
            };
        };
        responses: {
            /** @description The result. */
            200: {
                headers: {
                    "Aptix-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        Successful: true;
                        Result: components["schemas"]["Found"];
                        Errors: components["schemas"]["Error"][];
                        Warnings: components["schemas"]["Entry"][];
                    };
                };
            };
            "4XX": components["responses"]["Failure"];
            "5XX": components["responses"]["Failure"];
        };
    };
    compareDocuments: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                WorkspaceId: components["parameters"]["WorkspaceId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CompareRequest"];
            };
        };
        responses: {
            /** @description The result. */
            200: {
                headers: {
                    "Aptix-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        Successful: true;
                        Result: components["schemas"]["Comparison"];
                        Errors: components["schemas"]["Error"][];
                        Warnings: components["schemas"]["Entry"][];
                    };
                };
            };
            "4XX": components["responses"]["Failure"];
            "5XX": components["responses"]["Failure"];
        };
    };
    getWorkspace: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                WorkspaceId: components["parameters"]["WorkspaceId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The result. */
            200: {
                headers: {
                    "Aptix-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        Successful: true;
                        Result: components["schemas"]["WorkspaceCounts"];
                        Errors: components["schemas"]["Error"][];
                        Warnings: components["schemas"]["Entry"][];
                    };
                };
            };
            "4XX": components["responses"]["Failure"];
            "5XX": components["responses"]["Failure"];
        };
    };
    eraseWorkspace: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                WorkspaceId: components["parameters"]["WorkspaceId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The result. */
            200: {
                headers: {
                    "Aptix-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        Successful: true;
                        Result: components["schemas"]["WorkspaceCounts"];
                        Errors: components["schemas"]["Error"][];
                        Warnings: components["schemas"]["Entry"][];
                    };
                };
            };
            "4XX": components["responses"]["Failure"];
            "5XX": components["responses"]["Failure"];
        };
    };
    getFile: {
        parameters: {
            query: {
                /** @description The jurisdiction of the bucket that holds it, if that has one. */
                Bucket?: "eu" | "us" | "fedramp" | "fedramp-high";
                Name: string;
                MimeType: string;
                Expires: number;
                Signature: string;
            };
            header?: {
                /** @description One range of bytes. */
                Range?: string;
                "If-Range"?: string;
                "If-None-Match"?: string;
            };
            path: {
                FileId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The file. */
            200: {
                headers: {
                    "Aptix-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": string;
                    "*/*": unknown;
                };
            };
            /** @description The part that Range asks for. */
            206: {
                headers: {
                    "Aptix-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": string;
                    "*/*": unknown;
                };
            };
            /** @description The file that If-None-Match names. */
            304: {
                headers: {
                    "Aptix-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            410: components["responses"]["Failure"];
            /** @description The file has no byte of what Range asks for. */
            416: {
                headers: {
                    "Aptix-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            "4XX": components["responses"]["Failure"];
            "5XX": components["responses"]["Failure"];
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
            /** @description The result. */
            200: {
                headers: {
                    "Aptix-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        Successful: true;
                        Result: components["schemas"]["Health"];
                        Errors: components["schemas"]["Error"][];
                        Warnings: components["schemas"]["Entry"][];
                    };
                };
            };
            "4XX": components["responses"]["Failure"];
            "5XX": components["responses"]["Failure"];
        };
    };
    errors: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The result. */
            200: {
                headers: {
                    "Aptix-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        Successful: true;
                        Result: components["schemas"]["ErrorDictionary"];
                        Errors: components["schemas"]["Error"][];
                        Warnings: components["schemas"]["Entry"][];
                    };
                };
            };
            "4XX": components["responses"]["Failure"];
            "5XX": components["responses"]["Failure"];
        };
    };
    playground: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The page. */
            200: {
                headers: {
                    "Aptix-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
            "4XX": components["responses"]["Failure"];
            "5XX": components["responses"]["Failure"];
        };
    };
    openapi: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OpenAPI 3.1. */
            200: {
                headers: {
                    "Aptix-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
            "4XX": components["responses"]["Failure"];
            "5XX": components["responses"]["Failure"];
        };
    };
    onTurn: {
        parameters: {
            query?: never;
            header: {
                "webhook-id": string;
                "webhook-timestamp": string;
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WebhookMessage"];
            };
        };
        responses: {
            /** @description No further attempt at this message is wanted. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The message was taken. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The message is sent again later. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
}
