// The tables of both stores in one form: a list of lines for each table, one line a row, sorted. Data that only one
// store keeps, because it can be derived from the rest, is left out and listed here.
import type pg from 'pg'
import { hasOwnRows, searchTextOf } from '../../src/domain/jobs/job.ts'
import { executionIdAt } from '../../src/domain/queue/execution.ts'
import { routeOf } from '../../src/domain/queue/route.ts'
import { calendarNames } from '../../src/domain/schedule/exclusions.ts'
import { toEdgeParts, toLetters, toRoleLetters } from '../../src/postgres/graphs/rows.ts'
import { toDependsOn } from '../../src/postgres/jobs/job-row.ts'
import type { JobRow } from '../../testing/memory-store/rows.ts'
import type { MemoryStore } from '../../testing/memory-store/store.ts'
import { lineOf } from './lines.ts'

export type Tables = Map<string, readonly string[]>

type Row = Record<string, unknown>

/**
 * Columns that PostgreSQL has besides: `scattered` and `awaited_id` are short cuts of its statements, generated
 * columns are told from the rest; the generation of programs is that of both; the numbers of notes say in which order one statement met its rows, which is not promised.
 */
const QUERIES: Readonly<Record<string, string>> = {
  jobs: `SELECT job_id, tenant_id, version, created_at, updated_at, key, name, tags, search, created_by, updated_by,
    deleted_at, paused_at, pause_reason, paused_by, resume_at FROM jobs`,
  job_versions: `SELECT job_id, version, tenant_id, name, description, tags, schedule, anchor_at, execution, retry_policy,
    priority, overlap_policy, misfire_policy, misfire_window_seconds, metadata, jitter_seconds, concurrency_limit,
    concurrency_key, concurrency_key_limit, calendars, route, own_rows, depends_on,
    implied_dst FROM job_versions`,
  job_edges: 'SELECT * FROM job_edges',
  cursors: `SELECT job_id, tenant_id, partition_id, version, status, slot_at, due_at, decided_to, runs, graph_id, depends
    FROM cursors`,
  changes: 'SELECT * FROM changes',
  slots: 'SELECT * FROM slots',
  skips: `
    SELECT job_id, from_slot, to_slot, slot_count, reason, version, paused_at, paused_by, pause_reason
    FROM skips`,
  catchups: 'SELECT * FROM catchups',
  batches: `SELECT batch_id, route, lane, priority, enqueued_at, rank, kind, worker_id, claimed_at, fence, (
      SELECT array_agg(concat_ws(' ', p, j, v, s, payloads -> p) ORDER BY p) FROM unnest(positions, job_ids, versions, slots_ms) AS x(p, j, v, s)
    ) AS entries, cancels FROM batches`,
  live: 'SELECT * FROM live',
  attempts: 'SELECT * FROM attempts',
  dead_letters: `SELECT execution_id, tenant_id, job_id, job_name, reason, died_at, attempts, errors, payload, slot,
    redrive_at, edited_at, run_id FROM dead_letters`,
  graph_runs: `SELECT run_id, tenant_id, kind, slot, status, cancel_message, job_ids, roles, states, unfired, versions, execution_ids,
    edges, resumes, replaced, created_at, finished_at FROM graph_runs`,
  run_roots: 'SELECT * FROM run_roots',
  run_notes: 'SELECT run_id, what, job_id, execution_id, at, message FROM run_notes',
  workers: `SELECT worker_id, tenant_id, host, port, version, labels, executors, handlers, capacity, current_load, status, beats,
    registered_at, beat_at FROM workers`,
  former_workers: `SELECT worker_id, tenant_id, host, port, version, labels, executors, handlers, capacity, status,
    registered_at, beat_at, ended_at, shown_until FROM former_workers`,
  schedulers: 'SELECT scheduler_id, beats FROM schedulers',
  partitions: 'SELECT * FROM partitions',
  logs: 'SELECT tenant_id, execution_id, attempt, first_line, lines FROM logs',
  operations: 'SELECT * FROM operations',
  idempotency_keys: 'SELECT * FROM idempotency_keys',
}

export async function readPostgres(client: pg.Client): Promise<Tables> {
  const tables: Tables = new Map()
  for (const [name, text] of Object.entries(QUERIES)) {
    const { rows } = await client.query<Row>({ name, text })
    tables.set(name, rows.map(lineOf).toSorted())
  }
  return tables
}

export function readMemory(store: MemoryStore): Tables {
  const tables: Tables = new Map()
  for (const name of Object.keys(QUERIES)) tables.set(name, [])
  for (const [name, rows] of Object.entries(rowsOf(store))) tables.set(name, rows.map(lineOf).toSorted())
  return tables
}

function rowsOf(store: MemoryStore): Record<string, Row[]> {
  const jobs = [...store.jobs.values()]
  return {
    ...jobTables(jobs),
    ...queueTables(store),
    ...endTables(store, jobs),
    ...graphTables(store, jobs),
    ...requestTables(store),
    changes: store.changes.flatMap((ids, partition_id) =>
      [...ids].map((job_id) => ({ partition_id, job_id })),
    ),
    workers: [...store.leases.values()].map(({ batches: _, live: __, ...lease }) => toColumns(lease)),
    former_workers: [...store.formerWorkers.values()].map(({ currentLoad: _, ...worker }) =>
      toColumns(worker),
    ),
    schedulers: [...store.schedulers].map(([scheduler_id, beats]) => ({ scheduler_id, beats })),
    partitions: store.holders.map((scheduler_id, partition_id) => ({ partition_id, scheduler_id })),
  }
}

function jobTables(jobs: readonly JobRow[]): Record<string, Row[]> {
  return {
    jobs: jobs.map((job) => {
      const { name, tags } = job.versions.get(job.version)!
      const { jobId, tenantId, version, key, createdAt, createdBy, updatedAt, updatedBy, deletedAt, pause } =
        job
      const stamps = toColumns({ createdAt, createdBy, updatedAt, updatedBy, deletedAt })
      const named = { name, tags, search: searchTextOf({ name, key, tags }), key }
      return {
        ...{ job_id: jobId, tenant_id: tenantId, version, ...stamps, ...named },
        ...{
          paused_at: pause?.since,
          pause_reason: pause?.reason,
          paused_by: pause?.by,
          resume_at: pause?.until,
        },
      }
    }),
    job_versions: jobs.flatMap(({ versions }) =>
      [...versions.values()].map(({ concurrencyKey, dependsOn, ...version }) => ({
        // A job that is made has more than its version: that is in the other tables.
        ...toColumns({
          ...version,
          key: null,
          createdAt: null,
          createdBy: null,
          status: null,
          slotAt: null,
          immediate: null,
        }),
        ...{ concurrency_key: concurrencyKey?.key, concurrency_key_limit: concurrencyKey?.limit },
        ...{ calendars: calendarNames(version.schedule), depends_on: toDependsOn({ dependsOn }) },
        ...{ route: routeOf(version), own_rows: hasOwnRows({ ...version, concurrencyKey }) },
      })),
    ),
    cursors: jobs.map(({ tenantId, cursor }) => ({ ...toColumns(cursor), tenant_id: tenantId })),
    slots: jobs.flatMap(({ jobId, slots }) =>
      [...slots.values()].map((slot) => toColumns({ jobId, ...slot })),
    ),
    skips: jobs.flatMap(({ jobId, skips }) =>
      skips.map(({ from, to, count, pause, ...rest }) => {
        const { since = null, by = null, reason: pause_reason = null } = pause ?? {}
        const paused = { paused_at: since, paused_by: by, pause_reason }
        return { job_id: jobId, from_slot: from, to_slot: to, slot_count: count, ...paused, ...rest }
      }),
    ),
    catchups: jobs.flatMap(({ jobId, owed, joined }) => {
      if (owed === null) return []
      const { from, to, paceMs, nextAt } = owed
      return [{ job_id: jobId, from_slot: from, to_slot: to, pace_ms: paceMs, next_at: nextAt, joined }]
    }),
  }
}

function queueTables({ batches, live, logs }: MemoryStore): Record<string, Row[]> {
  return {
    batches: [...batches.values()].map(({ entries, cancels, ...batch }) => ({
      ...toColumns(batch),
      entries: entries
        .toSorted((a, b) => a.position - b.position)
        .map(({ position, jobId, version, slot, ...own }) => {
          const payload = 'payloadOverride' in own ? [JSON.stringify(own.payloadOverride)] : []
          return [position, jobId, version, slot, ...payload].join(' ')
        }),
      cancels: cancels.size === 0 ? null : Object.fromEntries(cancels),
    })),
    live: [...live.values()].map(({ concurrencyKey, ...row }) => ({
      ...toColumns(row),
      concurrency_key: concurrencyKey?.key,
      key_limit: concurrencyKey?.limit,
    })),
    logs: [...logs].flatMap(([execution_id, attempts]) =>
      [...attempts].map(([attempt, { tenantId, lines }]) => ({
        ...{ tenant_id: tenantId, execution_id, attempt, first_line: 0, lines: [...lines.values()] },
      })),
    ),
  }
}

function endTables(
  { log, live, batches, deadLetters }: MemoryStore,
  jobs: readonly JobRow[],
): Record<string, Row[]> {
  const batched = [...batches.values()].flatMap(({ batchId, entries }) =>
    entries.map(({ position }) => executionIdAt(batchId, position)),
  )
  const executionIds = new Set([...jobs.flatMap(({ ended }) => [...ended]), ...live.keys(), ...batched])
  return {
    attempts: [...executionIds].flatMap((executionId) =>
      log.of(executionId).map(({ error, skipMessage, ...row }) => ({
        ...toColumns(row),
        error_type: error?.type,
        // One column for both: a skip has no error.
        error_message: error?.message ?? skipMessage,
      })),
    ),
    dead_letters: [...deadLetters.values()].map(({ idempotencyKey: _, ...letter }) => toColumns(letter)),
  }
}

function graphTables(store: MemoryStore, jobs: readonly JobRow[]): Record<string, Row[]> {
  return {
    job_edges: jobs.flatMap(({ jobId: child_id, versions, version, cursor }) => {
      if (!cursor.depends) return []
      return versions
        .get(version)!
        .dependsOn.map(({ jobId: parent_id, on: rule }) => ({ child_id, parent_id, rule }))
    }),
    graph_runs: [...store.graphRuns.values()].map(({ graph, states, replaced, ...run }) => ({
      ...toColumns(run),
      ...{
        unfired: store.unfiredRuns.has(run.runId),
        states: toLetters(states),
        roles: toRoleLetters(graph.plan.nodes),
        edges: toEdgeParts(graph.plan.edges),
      },
      job_ids: graph.plan.nodes.map(({ jobId }) => jobId),
      versions: graph.plan.nodes.map(({ version }) => version),
      execution_ids: graph.plan.nodes.map(({ executionId }) => executionId),
      replaced: replaced.map(({ nodeIndex, executionId, resume }) => [nodeIndex, executionId, resume]),
    })),
    run_roots: [...store.runRoots.values()].flatMap((roots) => [...roots.values()].map(toColumns)),
    run_notes: [...store.runNotes.values()].flatMap((notes) => notes.map(toColumns)),
  }
}

function requestTables({ operations, requests }: MemoryStore): Record<string, Row[]> {
  return {
    operations: [...operations.values()].map(({ operation, nextAt, failures }) =>
      toColumns({ ...operation, nextAt, failures }),
    ),
    idempotency_keys: [...requests].map(([nodeIndex, { reply, fingerprint, createdAt }]) => {
      const space = nodeIndex.indexOf(' ')
      const [tenant_id, key] = [nodeIndex.slice(0, space), nodeIndex.slice(space + 1)]
      return { tenant_id, key, fingerprint, created_at: createdAt, ...reply }
    }),
  }
}

function toColumns(row: object): Row {
  const entries = Object.entries(row)
  return Object.fromEntries(
    entries.map(([name, value]) => [
      name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      value,
    ]),
  )
}
