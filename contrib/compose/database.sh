#!/bin/sh
# Creates the role and the database of Oriel. The role is no superuser, so that row-level
# security holds for it.
set -eu
psql -v ON_ERROR_STOP=1 -v password="$POSTGRES_PASSWORD" --username postgres <<'SQL'
CREATE ROLE oriel LOGIN PASSWORD :'password';
CREATE DATABASE oriel OWNER oriel TEMPLATE template0 ENCODING 'UTF8';
SQL
