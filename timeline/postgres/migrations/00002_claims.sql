-- Version 2 adds claims: who makes the derived data of a content. Servers of version 1
-- ignore them and may make the same data at the same time.

CREATE TABLE claim (
  tenant  bigint NOT NULL,
  kind    text COLLATE "C" NOT NULL,
  content uuid   NOT NULL,
  owner   text   NOT NULL,
  until   bigint NOT NULL,
  PRIMARY KEY (tenant, kind, content)
);

ALTER TABLE claim ENABLE ROW LEVEL SECURITY;
ALTER TABLE claim FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON claim USING (tenant = nullif(current_setting('oriel.tenant', true), '')::bigint);
