-- Passages of histories that are searched in the database: docs/reference/format/postgres.md. The
-- tables are made when a history is first too large for the memory of a server.

CREATE TABLE passage (
  tenant bigint   NOT NULL,
  trunk  bigint   NOT NULL,
  depth  bigint   NOT NULL,
  n      integer  NOT NULL,
  kind   text COLLATE "C" NOT NULL,
  words  tsvector NOT NULL,
  PRIMARY KEY (tenant, trunk, depth, kind, n)
) PARTITION BY HASH (tenant);

CREATE INDEX passage_words ON passage USING gin (words);

-- The row of trunk 0 says that passages of the tenant are wanted.
CREATE TABLE passage_to (
  tenant bigint NOT NULL,
  trunk  bigint NOT NULL,
  kind   text COLLATE "C" NOT NULL,
  depth  bigint NOT NULL,
  PRIMARY KEY (tenant, trunk, kind)
);

ALTER TABLE passage_to ENABLE ROW LEVEL SECURITY;
ALTER TABLE passage_to FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON passage_to USING (tenant = nullif(current_setting('oriel.tenant', true), '')::bigint);

-- Row-level security is not forced on passages: it would keep the owner of the tables from
-- using the index of words, whose operator may leak. A search returns places only, and the
-- messages at these are read from tables with the wall.
DO $$
DECLARE
  part text;
BEGIN
  FOR i IN 0..7 LOOP
    part := 'passage_p' || i;
    EXECUTE format('CREATE TABLE %I PARTITION OF passage FOR VALUES WITH (MODULUS 8, REMAINDER %s)', part, i);
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', part);
    EXECUTE format('CREATE POLICY tenant ON %I USING (tenant = nullif(current_setting(''oriel.tenant'', true), '''')::bigint)', part);
  END LOOP;
  ALTER TABLE passage ENABLE ROW LEVEL SECURITY;
  CREATE POLICY tenant ON passage USING (tenant = nullif(current_setting('oriel.tenant', true), '')::bigint);
END
$$;
