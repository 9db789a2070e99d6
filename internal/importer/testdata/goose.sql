CREATE TABLE sessions (
                id TEXT PRIMARY KEY,
                name TEXT NOT NULL DEFAULT '',
                description TEXT NOT NULL DEFAULT '',
                user_set_name BOOLEAN DEFAULT FALSE,
                session_type TEXT NOT NULL DEFAULT 'user',
                working_dir TEXT NOT NULL,
                created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
                updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
                extension_data TEXT DEFAULT '{}',
                total_tokens INTEGER,
                input_tokens INTEGER,
                output_tokens INTEGER,
                accumulated_total_tokens INTEGER,
                accumulated_input_tokens INTEGER,
                accumulated_output_tokens INTEGER,
                accumulated_cost REAL,
                schedule_id TEXT,
                recipe_json TEXT,
                user_recipe_values_json TEXT,
                provider_name TEXT,
                model_config_json TEXT,
                goose_mode TEXT NOT NULL DEFAULT 'auto',
                archived_at TIMESTAMP,
                project_id TEXT
            );
CREATE TABLE messages (
                id INTEGER PRIMARY KEY AUTOINCREMENT,
                message_id TEXT,
                session_id TEXT NOT NULL REFERENCES sessions(id),
                role TEXT NOT NULL,
                content_json TEXT NOT NULL,
                created_timestamp INTEGER NOT NULL,
                timestamp TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
                tokens INTEGER,
                metadata_json TEXT
            );
INSERT INTO "messages" VALUES(1,'msg_20261119_1_c6c02820-8241-4de1-b07b-2cd8588ab5ea','20261119_1','user','[{"type":"text","text":"When is high water? 潮"}]',1795123724,'2026-11-19 21:28:44',NULL,'{"userVisible":true,"agentVisible":true}');
INSERT INTO "messages" VALUES(2,'msg_001','20261119_1','assistant','[{"type":"thinking","thinking":"I read the file and look for another.","signature":"c2lnbmF0dXJl"},{"type":"text","text":"I read both."}]',1795123726,'2026-11-19 21:28:47',NULL,'{"userVisible":true,"agentVisible":true}');
INSERT INTO "messages" VALUES(3,'msg_5c7bdeb3-fe28-4cb3-89d8-006fcd08fdfe','20261119_1','assistant','[{"type":"toolRequest","id":"toolu_001_2","toolCall":{"status":"success","value":{"name":"shell","arguments":{"command":"cat tides.txt"}}},"_meta":{"goose_extension":"developer"}}]',1795123726,'2026-11-19 21:28:47',NULL,'{"userVisible":true,"agentVisible":true}');
INSERT INTO "messages" VALUES(4,'msg_ac571d0e-2834-482f-961f-4e2f8ed50f0b','20261119_1','user','[{"type":"toolResponse","id":"toolu_001_2","toolResult":{"status":"success","value":{"content":[{"type":"text","text":"HW 14:32 äöü 潮\nLW 20:51","annotations":{"priority":0.0}}],"structuredContent":{"stdout":"HW 14:32 äöü 潮\nLW 20:51","stderr":"","exit_code":0},"isError":false}}}]',1795123726,'2026-11-19 21:28:47',NULL,'{"userVisible":true,"agentVisible":true}');
INSERT INTO "messages" VALUES(5,'msg_cb9224e0-4b80-44d9-96f5-6979ed4527c2','20261119_1','assistant','[{"type":"toolRequest","id":"toolu_001_3","toolCall":{"status":"success","value":{"name":"shell","arguments":{"command":"cat missing.txt"}}},"_meta":{"goose_extension":"developer"}}]',1795123727,'2026-11-19 21:28:47',NULL,'{"userVisible":true,"agentVisible":true}');
INSERT INTO "messages" VALUES(6,'msg_5aaca9c5-b1b7-4f90-84c0-5f29f9547c85','20261119_1','user','[{"type":"toolResponse","id":"toolu_001_3","toolResult":{"status":"success","value":{"content":[{"type":"text","text":"cat: missing.txt: No such file or directory\n\nCommand exited with code 1","annotations":{"priority":0.0}}],"structuredContent":{"stdout":"","stderr":"cat: missing.txt: No such file or directory","exit_code":1},"isError":true}}}]',1795123726,'2026-11-19 21:28:47',NULL,'{"userVisible":true,"agentVisible":true}');
INSERT INTO "messages" VALUES(7,'msg_a5926987-b781-4b6f-acdf-3d10648530ce','20261119_1','assistant','[{"type":"toolRequest","id":"toolu_002_0","toolCall":{"status":"success","value":{"name":"shell","arguments":{"command":"cat tides.txt; exit 3"}}},"_meta":{"goose_extension":"developer"}}]',1795123727,'2026-11-19 21:28:47',NULL,'{"userVisible":true,"agentVisible":true}');
INSERT INTO "messages" VALUES(8,'msg_0458ff48-0172-42cc-a062-a588b44c4643','20261119_1','user','[{"type":"toolResponse","id":"toolu_002_0","toolResult":{"status":"success","value":{"content":[{"type":"text","text":"HW 14:32 äöü 潮\nLW 20:51\n\nCommand exited with code 3","annotations":{"priority":0.0}}],"structuredContent":{"stdout":"HW 14:32 äöü 潮\nLW 20:51","stderr":"","exit_code":3},"isError":true}}}]',1795123727,'2026-11-19 21:28:47',NULL,'{"userVisible":true,"agentVisible":true}');
INSERT INTO "messages" VALUES(9,'msg_003','20261119_1','assistant','[{"type":"text","text":"High water is at 14:32 — “springs” 🌊."}]',1795123727,'2026-11-19 21:28:47',NULL,'{"userVisible":true,"agentVisible":true}');
INSERT INTO "messages" VALUES(10,'msg_20261119_1_cc69bba5-9527-4e3a-a41f-689f7000a194','20261119_1','user','[{"type":"text","text":"What did I ask?"}]',1795123728,'2026-11-19 21:28:48',NULL,'{"userVisible":true,"agentVisible":true}');
INSERT INTO "messages" VALUES(11,'msg_004','20261119_1','assistant','[{"type":"text","text":"You asked about high water."}]',1795123728,'2026-11-19 21:28:48',NULL,'{"userVisible":true,"agentVisible":true}');
INSERT INTO "sessions" VALUES('20261119_1','tides','',1,'user','/home/ann/harbour','2026-11-19 21:28:44','2026-11-19 21:28:48','{}',1024,1004,20,4090,4010,80,1.32299999999999987054e-02,NULL,NULL,NULL,'anthropic','{"model_name":"claude-sonnet-4-5","context_limit":200000,"temperature":null,"max_tokens":64000,"toolshim":false,"toolshim_model":null,"reasoning":true}','auto',NULL,NULL);
