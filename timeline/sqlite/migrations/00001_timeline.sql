-- Version 1 of the timeline: docs/reference/format/timeline.md.

CREATE TABLE tenant (
  id   INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE content (
  id     INTEGER PRIMARY KEY,
  tenant INTEGER NOT NULL REFERENCES tenant (id),
  hash   BLOB    NOT NULL,
  size   INTEGER NOT NULL,
  codec  INTEGER NOT NULL,
  refs   INTEGER NOT NULL,
  data   BLOB    NOT NULL,
  UNIQUE (tenant, hash)
) STRICT;

-- Numbers of trunks rise and are never given twice.
CREATE TABLE trunk (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant       INTEGER NOT NULL REFERENCES tenant (id),
  origin       INTEGER NOT NULL,
  origin_depth INTEGER NOT NULL,
  says         BLOB    NOT NULL,
  UNIQUE (tenant, origin, origin_depth, says)
) STRICT;

-- References to content are counted there (refs): a foreign key would need an index
-- as large as this table.
CREATE TABLE message (
  trunk   INTEGER NOT NULL REFERENCES trunk (id),
  depth   INTEGER NOT NULL,
  hash    BLOB    NOT NULL,
  says    BLOB    NOT NULL,
  content INTEGER NOT NULL,
  format  TEXT    NOT NULL,
  role    TEXT    NOT NULL,
  time    INTEGER NOT NULL,
  ref     TEXT    NOT NULL,
  PRIMARY KEY (trunk, depth)
) STRICT, WITHOUT ROWID;

CREATE TABLE variant (
  trunk   INTEGER NOT NULL,
  depth   INTEGER NOT NULL,
  n       INTEGER NOT NULL,
  content INTEGER NOT NULL,
  hash    BLOB    NOT NULL,
  PRIMARY KEY (trunk, depth, n),
  FOREIGN KEY (trunk, depth) REFERENCES message (trunk, depth)
) STRICT, WITHOUT ROWID;

CREATE TABLE conversation (
  id        INTEGER PRIMARY KEY,
  tenant    INTEGER NOT NULL REFERENCES tenant (id),
  name      TEXT    NOT NULL,
  trunk     INTEGER NOT NULL,
  depth     INTEGER NOT NULL,
  revision  INTEGER NOT NULL,
  created   INTEGER NOT NULL,
  updated   INTEGER NOT NULL,
  project   TEXT    NOT NULL,
  continues TEXT    NOT NULL,
  hash      BLOB    NOT NULL,
  UNIQUE (tenant, name)
) STRICT;

CREATE TABLE conversation_trunk (
  conversation INTEGER NOT NULL REFERENCES conversation (id),
  trunk        INTEGER NOT NULL REFERENCES trunk (id),
  depth        INTEGER NOT NULL,
  PRIMARY KEY (conversation, trunk)
) STRICT, WITHOUT ROWID;

CREATE INDEX conversation_trunk_by_trunk ON conversation_trunk (trunk);

CREATE TABLE record (
  id           INTEGER PRIMARY KEY,
  tenant       INTEGER NOT NULL REFERENCES tenant (id),
  conversation INTEGER NOT NULL REFERENCES conversation (id),
  kind         TEXT    NOT NULL,
  key          TEXT    NOT NULL,
  trunk        INTEGER NOT NULL,
  depth        INTEGER NOT NULL,
  time         INTEGER NOT NULL,
  data         BLOB    NOT NULL,
  hash         BLOB    NOT NULL,
  UNIQUE (conversation, kind, key)
) STRICT;

CREATE TABLE record_content (
  record  INTEGER NOT NULL REFERENCES record (id),
  n       INTEGER NOT NULL,
  content INTEGER NOT NULL,
  PRIMARY KEY (record, n)
) STRICT, WITHOUT ROWID;

-- What was made of contents goes with them.
CREATE TABLE derived (
  id      INTEGER PRIMARY KEY,
  content INTEGER NOT NULL REFERENCES content (id) ON DELETE CASCADE,
  family  TEXT    NOT NULL,
  kind    TEXT    NOT NULL,
  data    BLOB    NOT NULL,
  hash    BLOB    NOT NULL,
  UNIQUE (content, family)
) STRICT;

CREATE TABLE setting (
  name  TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO setting (name, value) VALUES ('epoch', 1);
