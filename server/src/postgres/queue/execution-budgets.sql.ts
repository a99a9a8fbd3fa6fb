// The statements on the budgets of tenants with a limit on executions a minute, and on executions that wait for one.
import { fragment, sql } from '../../lib/sql.ts'
import { columnsOf, insertAttempts } from '../sql/insert.ts'
import { budgetItem, grantItem } from './items.ts'

export const selectBudgetLimits = sql('selectBudgetLimits')`
  SELECT t.tenant_id, tier.executions_per_minute, tier.waiting_executions_max
  FROM tenants t
  JOIN tiers tier ON tier.tier = t.tier
  WHERE t.tenant_id = ANY ($1::uuid[])
    AND num_nonnulls(tier.executions_per_minute, tier.waiting_executions_max) > 0`

export const selectTiersRevision = sql(
  'selectTiersRevision',
)`SELECT tiers_revision AS revision FROM installation`

/** Makes the rows of tenants ($1) that have none, of a draw that found none to lock. */
export const beginBudgets = sql('beginBudgets')`
  INSERT INTO execution_budgets (tenant_id, spent, counted_at)
  SELECT t.tenant_id, 0, clock_ms()
  FROM unnest($1::uuid[]) AS asked(tenant_id)
  CROSS JOIN LATERAL (SELECT t.tenant_id FROM tenants t WHERE t.tenant_id = asked.tenant_id LIMIT 1) t
  ON CONFLICT DO NOTHING`

// The rows are locked first, in the order of tenants; then the clock is read, in a statement after the locks: a draw that
// waited would count by a time before the one that it waited for.
export const lockBudgets = sql('lockBudgets')`
  SELECT b.tenant_id FROM execution_budgets b WHERE b.tenant_id = ANY ($1::uuid[]) ORDER BY b.tenant_id FOR UPDATE`

/** The same, without the rows that another process has locked. */
export const lockFreeBudgets = sql('lockFreeBudgets')`
  SELECT b.tenant_id
  FROM execution_budgets b
  WHERE b.tenant_id = ANY ($1::uuid[])
  ORDER BY b.tenant_id FOR UPDATE SKIP LOCKED`

export const selectBudgets = sql('selectBudgets')`
  SELECT b.tenant_id, b.spent, b.counted_at, clock_ms() AS now, tier.executions_per_minute,
    coalesce(
      (
        SELECT true
        FROM live l
        WHERE l.tenant_id = b.tenant_id AND l.state = 'ready' AND l.host = 'quota' LIMIT 1
      ),
      false
    ) AS is_behind
  FROM unnest($1::uuid[]) AS asked(tenant_id)
  CROSS JOIN LATERAL (SELECT * FROM execution_budgets b WHERE b.tenant_id = asked.tenant_id LIMIT 1) b
  JOIN tenants t ON t.tenant_id = b.tenant_id
  JOIN tiers tier ON tier.tier = t.tier`

export const writeBudgets = sql('writeBudgets')`
  UPDATE execution_budgets b
  SET spent = item.spent, counted_at = from_ms(item.counted_ms)
  FROM json_to_recordset($1::json) AS item(${budgetItem.columns})
  WHERE b.tenant_id = item.tenant_id`

export const selectSpent = sql('selectSpent')`
  SELECT b.spent, b.counted_at, clock_ms() AS now, tier.executions_per_minute
  FROM execution_budgets b
  JOIN tenants t ON t.tenant_id = b.tenant_id
  JOIN tiers tier ON tier.tier = t.tier
  WHERE b.tenant_id = $1`

// Tenants after $1 with executions that wait, at most $2: by skipping through the index, so that the cost grows with the
// tenants and not with the executions. Each with the number of its executions, up to $3.
export const selectHeldBack = sql('selectHeldBack')`
  WITH RECURSIVE held AS (
    (
      SELECT l.tenant_id, 1 AS nth
      FROM live l
      WHERE l.state = 'ready' AND l.host = 'quota' AND l.tenant_id > $1
      ORDER BY l.tenant_id LIMIT 1
    )
    UNION ALL
    SELECT (
        SELECT l.tenant_id
        FROM live l
        WHERE l.state = 'ready' AND l.host = 'quota' AND l.tenant_id > held.tenant_id
        ORDER BY l.tenant_id LIMIT 1
      ), held.nth + 1
    FROM held
    WHERE held.tenant_id IS NOT NULL AND held.nth < $2
  )
  SELECT held.tenant_id,
    (
      SELECT count(*)
      FROM (
        SELECT
        FROM live l
        WHERE l.tenant_id = held.tenant_id AND l.state = 'ready' AND l.host = 'quota' LIMIT $3
      ) l
    )::int AS held_back
  FROM held
  WHERE held.tenant_id IS NOT NULL
  ORDER BY held.tenant_id`

// The first executions of each tenant by rank, as many as it was granted. The keys go into the update as an array: joined,
// the planner estimates the lists far too large. Rows that somebody has locked, such as a cancel, are left out.
export const letHeldGo = sql('letHeldGo')`
  WITH first AS MATERIALIZED (
    SELECT held.execution_id
    FROM json_to_recordset($1::json) AS item(${grantItem.columns})
    CROSS JOIN LATERAL (
      SELECT l.execution_id
      FROM live l
      WHERE l.tenant_id = item.tenant_id
        AND l.state = 'ready'
        AND l.host = 'quota'
        AND coalesce(l.skip_at, 'infinity') > (SELECT clock_ms())
      ORDER BY l.rank LIMIT item.granted FOR UPDATE SKIP LOCKED
    ) held
  ), gone AS (
    UPDATE live l
    SET host = NULL, skip_at = NULL
    WHERE l.execution_id = ANY (ARRAY(SELECT execution_id FROM first))
    RETURNING l.tenant_id
  )
  SELECT gone.tenant_id, count(*)::int AS let_go FROM gone GROUP BY gone.tenant_id`

// The slot keeps its row, which names the execution; the record of the execution says why it never ran.
export const skipExpired = sql('skipExpired')`
  WITH moment AS MATERIALIZED (SELECT clock_ms() AS at), expired AS MATERIALIZED (
    SELECT l.execution_id
    FROM live l
    -- left(): the condition of the index live_skipped_at, and of no other.
    WHERE left(l.state, 5) = 'ready' AND l.host = 'quota' AND l.skip_at <= (SELECT clock_ms())
    ORDER BY l.skip_at LIMIT $1 FOR UPDATE SKIP LOCKED
  ), gone AS (
    DELETE FROM live l WHERE l.execution_id = ANY (ARRAY(SELECT execution_id FROM expired)) RETURNING l.*
  ), recorded AS (
    ${insertAttempts(
      {
        ...columnsOf(
          fragment`l`,
          ...(['tenant_id', 'job_id', 'version', 'execution_id', 'kind', 'slot', 'enqueued_at'] as const),
        ),
        ...columnsOf(fragment`l`, 'payload_override', 'idempotency_key', 'retry_of', 'run_id'),
        recorded_at: fragment`m.at`,
        attempt: fragment`0`,
        final: fragment`true`,
        outcome: fragment`'skipped'`,
        finished_at: fragment`m.at`,
        error_message: fragment`$2`,
        skip_reason: fragment`'quota'`,
      },
      fragment`
        FROM gone l CROSS JOIN moment m`,
    )}
  )
  SELECT l.execution_id, l.kind, l.route, 0 AS attempt, l.enqueued_at, m.at AS recorded_at
  FROM gone l
  CROSS JOIN moment m`
