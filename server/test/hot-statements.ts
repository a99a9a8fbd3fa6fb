// The hot statements with full-size parameters, for the test that looks at their plans.
import { defaultTenantId } from '../src/domain/tenants/tenant.ts'
import type { Sql } from '../src/lib/sql.ts'
import * as activityStatements from '../src/postgres/history/activity.sql.ts'
import { selectExecution } from '../src/postgres/history/executions.sql.ts'
import { foldStats, selectStats } from '../src/postgres/history/job-stats.sql.ts'
import * as rollupStatements from '../src/postgres/history/rollups.sql.ts'
import * as searchStatements from '../src/postgres/history/search.sql.ts'
import { selectState } from '../src/postgres/jobs/change-job.sql.ts'
import { selectOlderVersions } from '../src/postgres/jobs/job-versions.sql.ts'
import * as jobStatements from '../src/postgres/jobs/jobs.sql.ts'
import * as triggerStatements from '../src/postgres/jobs/triggers.sql.ts'
import {
  lockHolders,
  noteBatched,
  noteLive,
  reportBatched,
  reportLive,
  selectHeld,
  selectRecorded,
} from '../src/postgres/queue/attempts.sql.ts'
import {
  cancelBatchedById,
  cancelBatchedOfJobs,
  cancelLiveById,
  cancelLiveOfJobs,
  cancelLiveOfOperation,
} from '../src/postgres/queue/cancel.sql.ts'
import { selectOwnUnended } from '../src/postgres/queue/control.sql.ts'
import {
  countHeldKeys,
  leaveForgotten,
  noteSuperseded,
  releaseWaiting,
  selectNextRetry,
  selectOverdue,
  selectReleasable,
  selectWaitingJobs,
  timeOutLive,
  wakeRetries,
} from '../src/postgres/queue/maintenance.sql.ts'
import {
  claimSingles,
  claimWork,
  finishBatches,
  finishLive,
  selectCancelled,
} from '../src/postgres/queue/queue.sql.ts'
import { reclaimBatches, reclaimLive } from '../src/postgres/queue/reclaim.sql.ts'
import { findOwn } from '../src/postgres/queue/reconcile.sql.ts'
import { loadCursors, loadNoted, takeNotes } from '../src/postgres/scheduling/slots.sql.ts'

const job = 'md5(n::text)::uuid'
const tenant = `SELECT '${defaultTenantId}'::uuid`
const lastId = `SELECT 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid`
const fiveMinutesAgo = `SELECT to_ms(now() - interval '5 minutes')`
const aMinuteAgo = `SELECT to_ms(now() - interval '1 minute')`
/** A search with all conditions. */
const conditions = [
  ...[
    lastId,
    `SELECT '-infinity'`,
    `SELECT '{failed}'::text[]`,
    `SELECT 'slot'`,
    `SELECT 'TIMEOUT'`,
    'SELECT true',
  ],
  ...[`SELECT 'infinity'`, `SELECT 't7'`, `SELECT 'a'`, `SELECT md5('worker1')::uuid`],
]
const conditionTypes = 'uuid, uuid, timestamptz, text[], text, text, boolean, timestamptz, text, text, uuid'
const triggeredJobs = `SELECT json_agg(json_build_object('tenant_id', (${tenant}), 'job_id', ${job})) FROM generate_series(1, 200) AS n`
/** Items, bytes, and whether with payloads. */
const page = ['SELECT 50', 'SELECT 2000000', 'SELECT true']
const goneJobs = `SELECT json_agg(json_build_object('j', ${job}, 'm', 'gone')) FROM generate_series(1, 20) AS n`
const routes = `SELECT array_agg(CASE n WHEN 1 THEN 'server' ELSE 'worker t h' || n END) FROM generate_series(1, 50) AS n`
/** The same word of 2,000 executions. */
const endings = (mark: string) => `
  SELECT json_agg(json_build_object(${mark}, 'n', 1, 'f', 1, 'k', 'ended', 'o', 'succeeded', 's', 0, 'z', 0, 'd', 1, 'h', 200,
    'w', 'done')) FROM generate_series(1, 2000) AS n`

export interface HotStatement {
  statement: Sql
  /** Each parameter as an expression that is evaluated first. */
  values: string[]
  /** As the statement has them. */
  types: string
}

export const hotStatements: HotStatement[] = [
  {
    statement: loadCursors,
    values: [
      `SELECT json_agg(json_build_object('partition_id', n)) FROM generate_series(0, 63) AS n`,
      `SELECT to_ms(now() + interval '1 minute')`,
      'SELECT 1000',
      `SELECT to_ms(now() + interval '1 hour')`,
    ],
    types: 'json, float8, bigint, float8',
  },
  {
    statement: takeNotes,
    values: ['SELECT array_agg(n) FROM generate_series(0, 63) AS n', 'SELECT 5000'],
    types: 'smallint[], bigint',
  },
  {
    statement: loadNoted,
    values: [`SELECT array_agg(${job}) FROM generate_series(1, 2000) AS n`, `SELECT to_ms('9999-01-01')`],
    types: 'uuid[], float8',
  },
  {
    statement: claimWork,
    values: [
      `SELECT md5('worker1')::uuid`,
      routes,
      `SELECT '[{"l":"shared","n":250}]'`,
      `SELECT '[{"h":"example.com","n":10}]'`,
      'SELECT 100',
      'SELECT true',
    ],
    types: 'uuid, text[], json, json, bigint, boolean',
  },
  {
    statement: claimSingles,
    values: [`SELECT md5('worker1')::uuid`, routes, `SELECT 'shared'`, 'SELECT 20'],
    types: 'uuid, text[], text, bigint',
  },
  {
    statement: finishBatches,
    values: [
      `SELECT md5('worker1')::uuid`,
      `SELECT json_agg(json_build_object('b', batch_of(md5('batch' || b * 10)::uuid), 'f', 1, 'n', 100, 'r', (
        SELECT json_agg(json_build_object('p', p, 'k', 'ended', 'o', 'failed', 's', 0, 'z', 0, 'd', 1, 'h', 500,
          't', 'HTTP_ERROR', 'm', 'no', 'x', 'NOT_RETRYABLE')) FROM generate_series(0, 99) AS p)))
        FROM generate_series(1, 20) AS b`,
    ],
    types: 'uuid, json',
  },
  {
    statement: finishLive,
    values: [endings(`'e', md5('live' || n)::uuid`), `SELECT md5('worker1')::uuid`],
    types: 'json, uuid',
  },
  {
    statement: reportBatched,
    values: [endings(`'e', execution_at(batch_of(md5('batch' || n / 100 * 10)::uuid), n % 100)`)],
    types: 'json',
  },
  { statement: reportLive, values: [endings(`'e', md5('live' || n)::uuid`)], types: 'json' },
  {
    statement: timeOutLive,
    values: [endings(`'e', md5('live' || n)::uuid`), 'SELECT 10000'],
    types: 'json, float8',
  },
  { statement: leaveForgotten, values: ['SELECT 50'], types: 'bigint' },
  { statement: selectOverdue, values: ['SELECT 500'], types: 'bigint' },
  {
    statement: selectHeld,
    values: [`SELECT array_agg(md5('live' || n)::uuid) FROM generate_series(1, 200) AS n`],
    types: 'uuid[]',
  },
  {
    statement: selectRecorded,
    values: [
      `SELECT json_agg(json_build_object('e', execution_id, 'n', 1, 'j', job_id, 'o', 'succeeded')) FROM (
        SELECT execution_id, job_id FROM attempts ORDER BY recorded_at DESC LIMIT 200) a`,
    ],
    types: 'json',
  },
  {
    statement: lockHolders,
    values: [`SELECT array_agg(batch_of(md5('batch' || n * 10)::uuid)) FROM generate_series(1, 200) AS n`],
    types: 'uuid[]',
  },
  {
    statement: noteBatched,
    values: [
      endings(`'e', execution_at(batch_of(md5('batch' || n / 100 * 10)::uuid), n % 100), 'alive', true`),
      `SELECT array_agg(md5('worker' || n)::uuid) FROM generate_series(0, 9) AS n`,
    ],
    types: 'json, uuid[]',
  },
  {
    statement: noteLive,
    values: [endings(`'e', md5('live' || n)::uuid, 'alive', true`)],
    types: 'json',
  },
  {
    statement: findOwn,
    values: [
      `SELECT md5('worker1')::uuid`,
      `SELECT json_agg(json_build_object('e', execution_id, 'n', 1)) FROM (
        SELECT execution_id FROM attempts ORDER BY recorded_at DESC LIMIT 2000) a`,
    ],
    types: 'uuid, json',
  },
  { statement: wakeRetries, values: ['SELECT 1000'], types: 'bigint' },
  { statement: selectNextRetry, values: [], types: '' },
  {
    statement: selectWaitingJobs,
    values: [`SELECT '00000000-0000-0000-0000-000000000000'::uuid`, 'SELECT 500', 'SELECT true'],
    types: 'uuid, bigint, boolean',
  },
  {
    statement: selectReleasable,
    values: [`SELECT array_agg(${job}) FROM generate_series(1, 500) AS n`, 'SELECT 100', 'SELECT 1001'],
    types: 'uuid[], int, int',
  },
  {
    statement: noteSuperseded,
    values: [goneJobs],
    types: 'json',
  },
  {
    statement: countHeldKeys,
    values: [
      `SELECT json_agg(json_build_object('t', (${tenant}), 'k', 'k' || n)) FROM generate_series(1, 10) AS n`,
    ],
    types: 'json',
  },
  {
    statement: releaseWaiting,
    values: [
      `SELECT array_agg(md5('live' || n)::uuid) FROM generate_series(1, 500) AS n`,
      `SELECT json_agg(json_build_object('j', ${job}, 'v', 1, 's', to_ms(now()), 'e', md5('owed' || n)::uuid,
        'l', 'shared', 'p', 5, 'st', 'ready', 'ru', md5('run' || n)::uuid)) FROM generate_series(1, 500) AS n`,
      `SELECT '[]'`,
      `SELECT json_agg(json_build_object('j', ${job}, 'f', to_ms(now()), 'n', to_ms(now())))
        FROM generate_series(1, 500) AS n`,
      `SELECT json_agg(json_build_object('j', ${job}, 's', to_ms(now()), 'd', to_ms(now())))
        FROM generate_series(1, 500) AS n`,
    ],
    types: 'uuid[], json, json, json, json',
  },
  { statement: selectCancelled, values: [`SELECT md5('worker1')::uuid`], types: 'uuid' },
  {
    statement: reclaimBatches,
    values: [`SELECT md5('worker1')::uuid`, `SELECT 'lost'`],
    types: 'uuid, text',
  },
  {
    statement: reclaimLive,
    values: [`SELECT md5('worker1')::uuid`, `SELECT 'lost'`, 'SELECT 5'],
    types: 'uuid, text, int',
  },
  {
    statement: selectExecution,
    values: [
      `SELECT '${defaultTenantId}'::uuid`,
      'SELECT execution_id FROM attempts ORDER BY recorded_at LIMIT 1',
      `SELECT now() - interval '5 days'`,
      'SELECT 3600000',
    ],
    types: 'uuid, uuid, timestamptz, float8',
  },
  {
    statement: jobStatements.selectJob,
    values: [tenant, `SELECT md5('7')::uuid`],
    types: 'uuid, uuid',
  },
  {
    statement: jobStatements.listJobs,
    values: [tenant, lastId, `SELECT 't7'`, `SELECT 'a1'`, 'SELECT 0', 'SELECT 50000', ...page],
    types: 'uuid, uuid, text, text, bigint, bigint, int, bigint, boolean',
  },
  {
    statement: jobStatements.listJobsByStatus,
    values: [
      tenant,
      lastId,
      'SELECT NULL',
      'SELECT NULL',
      'SELECT 0',
      'SELECT 51',
      ...page,
      `SELECT 'PAUSED'`,
    ],
    types: 'uuid, uuid, text, text, bigint, bigint, int, bigint, boolean, text',
  },
  {
    statement: jobStatements.countJobs,
    values: [tenant, 'SELECT NULL', 'SELECT NULL', 'SELECT 10001'],
    types: 'uuid, text, text, bigint',
  },
  { statement: triggerStatements.lockJobs, values: [triggeredJobs], types: 'json' },
  ...[triggerStatements.lockFreeJobs, triggerStatements.lockHeldJobs].map((statement) => ({
    statement,
    values: [triggeredJobs, 'SELECT array_agg(worker_id) FROM workers'],
    types: 'json, uuid[]',
  })),
  { statement: selectState, values: [`SELECT md5('7')::uuid`], types: 'uuid' },
  { statement: selectOlderVersions, values: [lastId, 'SELECT 1', 'SELECT 100'], types: 'uuid, int, int' },
  {
    statement: cancelBatchedOfJobs,
    values: [goneJobs, 'SELECT true'],
    types: 'json, boolean',
  },
  {
    statement: cancelLiveOfJobs,
    values: [goneJobs, 'SELECT true', `SELECT '{}'`, 'SELECT true'],
    types: 'json, boolean, uuid[], boolean',
  },
  ...[cancelBatchedById, cancelLiveById].map((statement) => ({
    statement,
    values: [
      `SELECT 'gone'`,
      'SELECT true',
      `SELECT array_agg(md5('live' || n)::uuid) FROM generate_series(1, 200) AS n`,
    ],
    types: 'text, boolean, uuid[]',
  })),
  {
    statement: cancelLiveOfOperation,
    values: [`SELECT 'gone'`, 'SELECT false', `SELECT md5('7')::uuid`],
    types: 'text, boolean, uuid',
  },
  {
    statement: selectOwnUnended,
    values: [tenant, `SELECT array_agg(md5('live' || n)::uuid) FROM generate_series(1, 200) AS n`],
    types: 'uuid, uuid[]',
  },
  { statement: selectStats, values: [`SELECT md5('7')::uuid`, 'SELECT 365'], types: 'uuid, int' },
  { statement: foldStats, values: ['SELECT 10000'], types: 'float8' },
  ...[rollupStatements.foldTenants, rollupStatements.foldJobs].map((statement) => ({
    statement,
    values: [fiveMinutesAgo, aMinuteAgo],
    types: 'float8, float8',
  })),
  {
    statement: rollupStatements.foldTroubles,
    values: [fiveMinutesAgo, aMinuteAgo, 'SELECT 1000', 'SELECT 1000'],
    types: 'float8, float8, int, int',
  },
  {
    statement: rollupStatements.foldSkips,
    values: [fiveMinutesAgo, aMinuteAgo, 'SELECT 1000'],
    types: 'float8, float8, int',
  },
  { statement: rollupStatements.foldDays, values: [fiveMinutesAgo], types: 'float8' },
  {
    statement: activityStatements.lookAtQueue,
    values: [tenant, 'SELECT 200', 'SELECT 10000'],
    types: 'uuid, bigint, bigint',
  },
  {
    statement: activityStatements.selectWaitingSlots,
    values: [tenant, 'SELECT 200', 'SELECT 10000', 'SELECT 50'],
    types: 'uuid, bigint, bigint, bigint',
  },
  ...[searchStatements.listOfJob, searchStatements.listFailedOfJob].map((statement) => ({
    statement,
    values: [
      `SELECT md5('7')::uuid`,
      ...conditions,
      'SELECT 10000',
      'SELECT 51',
      tenant,
      'SELECT 20000',
      'SELECT 10000',
    ],
    types: `${conditionTypes}, bigint, bigint, uuid, bigint, bigint`,
  })),
  ...[searchStatements.listOfTenant, searchStatements.listFailedOfTenant].map((statement) => ({
    statement,
    values: [
      tenant,
      ...conditions,
      ...['SELECT 10000', 'SELECT 51', tenant, 'SELECT 20000', 'SELECT 500', 'SELECT 10000'],
    ],
    types: `${conditionTypes}, bigint, bigint, uuid, bigint, bigint, bigint`,
  })),
  ...[searchStatements.countOfTenant, searchStatements.countFailedOfTenant].map((statement) => ({
    statement,
    values: [tenant, ...conditions, 'SELECT 10000', tenant],
    types: `${conditionTypes}, bigint, uuid`,
  })),
  {
    statement: triggerStatements.countBackfill,
    values: [`SELECT md5('7')::uuid`],
    types: 'uuid',
  },
  {
    statement: triggerStatements.insertTriggers,
    values: [
      `SELECT json_agg(json_build_object('n', n, 't', (${tenant}), 'e', gen_random_uuid(), 'j', ${job}, 'l',
        'shared', 'w', (SELECT worker_id FROM workers LIMIT 1), 'r', 'server')) FROM generate_series(1, 200) AS n`,
      'SELECT 2',
    ],
    types: 'json, int',
  },
]
