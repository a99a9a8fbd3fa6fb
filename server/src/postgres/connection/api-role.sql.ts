// The role as which the API reads.
import { sql } from '../../lib/sql.ts'

/** $1 the role, $2 the tables it reads, $3 the ones of which it reads some columns: one row. */
export const selectApiRole = sql('selectApiRole')`
  SELECT role.oid IS NOT NULL AS is_there,
    own.rolsuper OR own.rolcreaterole AS may_create,
    coalesce(role.rolsuper OR role.rolbypassrls, false) AS is_above,
    CASE
      WHEN role.oid IS NULL THEN false
      -- From PostgreSQL 16 on, a member may be one that must not set the role.
      WHEN current_setting('server_version_num')::int < 160000 THEN pg_has_role(own.oid, role.oid, 'MEMBER')
      ELSE pg_has_role(own.oid, role.oid, 'SET')
    END AS may_set,
    coalesce(has_schema_privilege(role.oid, current_schema(), 'USAGE'), false) AS may_use_schema,
    role.oid IS NOT NULL
      AND (
        SELECT bool_and(has_any_column_privilege(role.oid, name, 'SELECT')) FROM unnest($3::text[]) AS name
      )
      AND (SELECT bool_and(has_table_privilege(role.oid, name, 'SELECT')) FROM unnest($2::text[]) AS name)
      AS may_read,
    array_to_string(current_schemas(false), ',') AS schemas, own.rolname AS own_name,
    current_setting('server_version_num')::int AS version
  FROM pg_roles own
  LEFT JOIN pg_roles role ON role.rolname = $1
  WHERE own.rolname = current_user`

/** Every installation has a tenant: one that may see all rows sees it. */
export const countVisibleTenants = sql('countVisibleTenants')`
  SELECT count(*) AS tenants FROM (SELECT FROM tenants LIMIT 2) t`
