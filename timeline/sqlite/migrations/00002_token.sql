-- Version 2: tokens. Times are 0 for never.
CREATE TABLE token (
  hash    BLOB    PRIMARY KEY,
  tenant  TEXT    NOT NULL,
  role    TEXT    NOT NULL,
  created INTEGER NOT NULL,
  expires INTEGER NOT NULL,
  revoked INTEGER NOT NULL,
  seal    BLOB    NOT NULL
) STRICT, WITHOUT ROWID;
