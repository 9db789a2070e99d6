-- Version 3: what was made of runs of messages goes with them.
CREATE TABLE extract (
  id    INTEGER PRIMARY KEY,
  trunk INTEGER NOT NULL REFERENCES trunk (id) ON DELETE CASCADE,
  first INTEGER NOT NULL,
  last  INTEGER NOT NULL,
  kind  TEXT    NOT NULL,
  data  BLOB    NOT NULL,
  hash  BLOB    NOT NULL,
  UNIQUE (trunk, last)
) STRICT;

-- A trunk is shortened at its end. A trigger does this, because programs of version 2 that
-- have the file open do not know of extracts.
CREATE TRIGGER message_deleted AFTER DELETE ON message BEGIN
  DELETE FROM extract WHERE trunk = OLD.trunk AND last >= OLD.depth;
END;
