-- Version 3: what was made of runs of messages goes with them.
CREATE TABLE extract (
  id    INTEGER PRIMARY KEY,
  trunk INTEGER NOT NULL REFERENCES trunk (id) ON DELETE CASCADE,
  first INTEGER NOT NULL,
  last  INTEGER NOT NULL,
  kind  TEXT    NOT NULL,
  data  BLOB    NOT NULL,
  hash  BLOB    NOT NULL,
  UNIQUE (trunk, first)
) STRICT;
