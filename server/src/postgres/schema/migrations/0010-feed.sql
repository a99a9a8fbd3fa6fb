-- What the live view asks for, once a second for each tenant that somebody looks at.

-- The jobs that were changed of late.
CREATE INDEX jobs_by_change ON jobs (tenant_id, updated_at);

-- The id of the transaction that wrote a row, whole: a row has its lower half. `next`: the next id that is given.
CREATE FUNCTION whole_xid(short xid, next bigint) RETURNS xid8
  LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
  AS $$ SELECT (next - ((next - short::text::bigint) & 4294967295))::text::xid8 $$;
