CREATE TABLE sessions (
    id TEXT PRIMARY KEY,
    parent_session_id TEXT,
    title TEXT NOT NULL,
    message_count INTEGER NOT NULL DEFAULT 0 CHECK (message_count >= 0),
    prompt_tokens INTEGER NOT NULL DEFAULT 0 CHECK (prompt_tokens >= 0),
    completion_tokens INTEGER NOT NULL DEFAULT 0 CHECK (completion_tokens >= 0),
    cost REAL NOT NULL DEFAULT 0.0 CHECK (cost >= 0.0),
    updated_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    summary_message_id TEXT,
    todos TEXT
);
CREATE TABLE messages (
    id TEXT PRIMARY KEY,
    session_id TEXT NOT NULL,
    role TEXT NOT NULL,
    parts TEXT NOT NULL DEFAULT '[]',
    model TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    finished_at INTEGER,
    provider TEXT,
    is_summary_message INTEGER DEFAULT 0 NOT NULL,
    FOREIGN KEY (session_id) REFERENCES sessions (id) ON DELETE CASCADE
);
INSERT INTO sessions VALUES('5f1f6d1e-7c2a-4c0b-9e0d-2a6b1f7c9d10',NULL,'Tides',9,1004,20,0.01,1795123728,1795123724,NULL,NULL);
INSERT INTO messages VALUES('00000001-1111-4222-8333-444455556666','5f1f6d1e-7c2a-4c0b-9e0d-2a6b1f7c9d10','user','[{"type": "text", "data": {"text": "When is high water? 潮"}}, {"type": "finish", "data": {"reason": "stop", "time": 1795123724}}]',NULL,1795123725,1795123725,NULL,'anthropic',0);
INSERT INTO messages VALUES('00000002-1111-4222-8333-444455556666','5f1f6d1e-7c2a-4c0b-9e0d-2a6b1f7c9d10','assistant','[{"type": "reasoning", "data": {"thinking": "I read the file and look for another.", "signature": "c2lnbmF0dXJl", "thought_signature": "", "tool_id": "", "responses_data": null}}, {"type": "text", "data": {"text": "I read both."}}, {"type": "tool_call", "data": {"id": "toolu_001_2", "name": "bash", "input": "{\"command\": \"cat tides.txt\"}", "provider_executed": false, "finished": true}}, {"type": "tool_call", "data": {"id": "toolu_001_3", "name": "bash", "input": "{\"command\": \"cat missing.txt\"}", "provider_executed": false, "finished": true}}, {"type": "finish", "data": {"reason": "tool_use", "time": 1795123724}}]','claude-sonnet-4-5',1795123726,1795123726,NULL,'anthropic',0);
INSERT INTO messages VALUES('00000003-1111-4222-8333-444455556666','5f1f6d1e-7c2a-4c0b-9e0d-2a6b1f7c9d10','tool','[{"type": "tool_result", "data": {"tool_call_id": "toolu_001_2", "name": "bash", "content": "HW 14:32 äöü 潮\nLW 20:51\n", "data": "", "mime_type": "", "metadata": "", "is_error": false}}, {"type": "tool_result", "data": {"tool_call_id": "toolu_001_3", "name": "bash", "content": "cat: missing.txt: No such file or directory", "data": "", "mime_type": "", "metadata": "", "is_error": true}}]',NULL,1795123727,1795123727,NULL,'anthropic',0);
INSERT INTO messages VALUES('00000004-1111-4222-8333-444455556666','5f1f6d1e-7c2a-4c0b-9e0d-2a6b1f7c9d10','assistant','[{"type": "tool_call", "data": {"id": "toolu_002_0", "name": "bash", "input": "{\"command\": \"cat tides.txt; exit 3\"}", "provider_executed": false, "finished": true}}, {"type": "finish", "data": {"reason": "tool_use", "time": 1795123724}}]','claude-sonnet-4-5',1795123728,1795123728,NULL,'anthropic',0);
INSERT INTO messages VALUES('00000005-1111-4222-8333-444455556666','5f1f6d1e-7c2a-4c0b-9e0d-2a6b1f7c9d10','tool','[{"type": "tool_result", "data": {"tool_call_id": "toolu_002_0", "name": "bash", "content": "HW 14:32 äöü 潮\nLW 20:51\n", "data": "", "mime_type": "", "metadata": "", "is_error": true}}]',NULL,1795123729,1795123729,NULL,'anthropic',0);
INSERT INTO messages VALUES('00000006-1111-4222-8333-444455556666','5f1f6d1e-7c2a-4c0b-9e0d-2a6b1f7c9d10','assistant','[{"type": "text", "data": {"text": "High water is at 14:32 — “springs” 🌊."}}, {"type": "finish", "data": {"reason": "end_turn", "time": 1795123724}}]','claude-sonnet-4-5',1795123730,1795123730,NULL,'anthropic',0);
INSERT INTO messages VALUES('00000007-1111-4222-8333-444455556666','5f1f6d1e-7c2a-4c0b-9e0d-2a6b1f7c9d10','user','[{"type": "text", "data": {"text": "What did I ask?"}}, {"type": "finish", "data": {"reason": "stop", "time": 1795123724}}]',NULL,1795123731,1795123731,NULL,'anthropic',0);
INSERT INTO messages VALUES('00000008-1111-4222-8333-444455556666','5f1f6d1e-7c2a-4c0b-9e0d-2a6b1f7c9d10','assistant','[{"type": "text", "data": {"text": "You asked about high water."}}, {"type": "finish", "data": {"reason": "end_turn", "time": 1795123724}}]','claude-sonnet-4-5',1795123732,1795123732,NULL,'anthropic',0);
