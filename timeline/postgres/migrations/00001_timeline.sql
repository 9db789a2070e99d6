-- Version 1 of the timeline in PostgreSQL: docs/reference/format/postgres.md.

CREATE SEQUENCE tenant_number;
CREATE SEQUENCE conversation_number;
-- Numbers of trunks rise and are never given twice.
CREATE SEQUENCE trunk_number;

CREATE TABLE tenant (
  id   bigint NOT NULL DEFAULT nextval('tenant_number') PRIMARY KEY,
  name text COLLATE "C" NOT NULL UNIQUE
);

CREATE TABLE content (
  tenant bigint   NOT NULL,
  hash   uuid     NOT NULL,
  size   bigint   NOT NULL,
  codec  smallint NOT NULL,
  refs   bigint   NOT NULL,
  data   bytea    NOT NULL,
  PRIMARY KEY (tenant, hash)
) PARTITION BY HASH (tenant);

-- The data is compressed already.
ALTER TABLE content ALTER COLUMN data SET STORAGE EXTERNAL;

CREATE TABLE trunk (
  tenant       bigint NOT NULL,
  id           bigint NOT NULL,
  origin       bigint NOT NULL,
  origin_depth bigint NOT NULL,
  says         uuid   NOT NULL,
  PRIMARY KEY (tenant, id),
  UNIQUE (tenant, origin, origin_depth, says)
) PARTITION BY HASH (tenant);

CREATE TABLE message (
  tenant  bigint NOT NULL,
  trunk   bigint NOT NULL,
  depth   bigint NOT NULL,
  time    bigint NOT NULL,
  hash    uuid   NOT NULL,
  says    uuid   NOT NULL,
  content uuid   NOT NULL,
  format  text   NOT NULL,
  role    text   NOT NULL,
  ref     text   NOT NULL,
  PRIMARY KEY (tenant, trunk, depth)
) PARTITION BY HASH (tenant);

CREATE TABLE variant (
  tenant  bigint NOT NULL,
  trunk   bigint NOT NULL,
  depth   bigint NOT NULL,
  n       bigint NOT NULL,
  content uuid   NOT NULL,
  hash    uuid   NOT NULL,
  PRIMARY KEY (tenant, trunk, depth, n)
) PARTITION BY HASH (tenant);

CREATE TABLE conversation (
  tenant    bigint NOT NULL,
  id        bigint NOT NULL,
  trunk     bigint NOT NULL,
  depth     bigint NOT NULL,
  revision  bigint NOT NULL,
  created   bigint NOT NULL,
  updated   bigint NOT NULL,
  hash      uuid   NOT NULL,
  name      text COLLATE "C" NOT NULL,
  project   text   NOT NULL,
  continues text   NOT NULL,
  PRIMARY KEY (tenant, id),
  UNIQUE (tenant, name)
) PARTITION BY HASH (tenant);

CREATE TABLE conversation_trunk (
  tenant       bigint NOT NULL,
  conversation bigint NOT NULL,
  trunk        bigint NOT NULL,
  depth        bigint NOT NULL,
  PRIMARY KEY (tenant, conversation, trunk)
) PARTITION BY HASH (tenant);

CREATE INDEX conversation_trunk_by_trunk ON conversation_trunk (tenant, trunk);

-- n is the position among the records of the conversation.
CREATE TABLE record (
  tenant       bigint NOT NULL,
  conversation bigint NOT NULL,
  n            bigint NOT NULL,
  trunk        bigint NOT NULL,
  depth        bigint NOT NULL,
  time         bigint NOT NULL,
  hash         uuid   NOT NULL,
  kind         text COLLATE "C" NOT NULL,
  key          text COLLATE "C" NOT NULL,
  contents     uuid[] NOT NULL,
  data         bytea  NOT NULL,
  PRIMARY KEY (tenant, conversation, n),
  UNIQUE (tenant, conversation, kind, key)
) PARTITION BY HASH (tenant);

CREATE TABLE derived (
  tenant  bigint NOT NULL,
  content uuid   NOT NULL,
  hash    uuid   NOT NULL,
  family  text COLLATE "C" NOT NULL,
  kind    text   NOT NULL,
  data    bytea  NOT NULL,
  PRIMARY KEY (tenant, content, family)
) PARTITION BY HASH (tenant);

-- Vectors do not get smaller.
ALTER TABLE derived ALTER COLUMN data SET STORAGE EXTERNAL;

-- Tokens are found before their tenant is known. Times are 0 for never.
CREATE TABLE token (
  hash    bytea  NOT NULL PRIMARY KEY,
  tenant  text COLLATE "C" NOT NULL,
  role    text   NOT NULL,
  created bigint NOT NULL,
  expires bigint NOT NULL,
  revoked bigint NOT NULL,
  seal    uuid   NOT NULL
);

-- What all servers share and no tenant owns: limits and counts that providers taught.
CREATE TABLE document (
  name text  NOT NULL PRIMARY KEY,
  data bytea NOT NULL
);

-- The row "oldest" is the oldest version of the program that can use these tables.
CREATE TABLE setting (
  name  text PRIMARY KEY,
  value bigint NOT NULL
);

INSERT INTO setting (name, value) VALUES ('oldest', 1);

-- The partitions, and the second wall between tenants: without oriel.tenant no row is
-- visible, to the owner of the tables neither.
DO $$
DECLARE
  name text;
  part text;
BEGIN
  FOREACH name IN ARRAY ARRAY['content', 'trunk', 'message', 'variant', 'conversation', 'conversation_trunk', 'record', 'derived'] LOOP
    FOR i IN 0..7 LOOP
      part := name || '_p' || i;
      EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES WITH (MODULUS 8, REMAINDER %s)', part, name, i);
      EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', part);
      EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', part);
      EXECUTE format('CREATE POLICY tenant ON %I USING (tenant = nullif(current_setting(''oriel.tenant'', true), '''')::bigint)', part);
    END LOOP;
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);
    EXECUTE format('CREATE POLICY tenant ON %I USING (tenant = nullif(current_setting(''oriel.tenant'', true), '''')::bigint)', name);
  END LOOP;
END
$$;
