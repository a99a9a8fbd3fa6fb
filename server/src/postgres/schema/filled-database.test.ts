// A database that was filled under early schemas and migrated since: its rows mean the same. Rows are loaded after the
// migration that their file is named after (server/test/migrations/filled-NNNN.copy.txt), as an installation grows.
import assert from 'node:assert/strict'
import { copyFile, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { type TestContext } from 'node:test'
import { cleanUp } from '../../../test/cleanup.ts'
import { allExecutions, createScenario } from '../../../test/conformance/scenario.ts'
import { bundlePostgres } from '../../../test/conformance/stores.ts'
import { connect, createDatabase, openDatabase, POSTGRES_VERSIONS } from '../../../test/database.ts'
import { type CopyBlock, loadCopyText, readCopyText } from '../../../test/migrations/copy-text.ts'
import { firstTiers, unlimitedTier } from '../../../testing/memory-store/first-tiers.ts'
import { hasOwnRows, searchTextOf } from '../../domain/jobs/job.ts'
import { executionIdAt, statusOfOutcome } from '../../domain/queue/execution.ts'
import { sharedLane } from '../../domain/queue/lane.ts'
import { routeOf } from '../../domain/queue/route.ts'
import { defaultTenantId, type Tier } from '../../domain/tenants/tenant.ts'
import { programRole } from '../../lib/program-role.ts'
import { epochMs } from '../../lib/time/epoch.ts'
import { realTimers } from '../../lib/time/timers.ts'
import { ClockRuleMover } from '../../maintenance/move-clock-rule.ts'
import { migrate } from '../connection/migrate.ts'

const migrations = join(import.meta.dirname, 'migrations')
const filled = join(import.meta.dirname, '../../../test/migrations')
const deps = {
  clock: { monotonicMs: () => performance.now() },
  timers: realTimers,
  signal: new AbortController().signal,
}
/** Rows that migrations themselves insert. */
const ownRows: Readonly<Record<string, number>> = {
  tiers: 4,
  tenants: 1,
  partitions: 64,
  installation: 1,
  stats_feed: 1,
  rollup_feeds: 5,
}

/** Applies every migration, and after each the rows of its file. */
async function migrateFilled(t: TestContext, version: (typeof POSTGRES_VERSIONS)[number]) {
  const address = await createDatabase(t, { version, template: 'empty' })
  const client = await connect(t, address)
  const dir = await mkdtemp(join(tmpdir(), 'carillon-filled-'))
  cleanUp(t, () => rm(dir, { recursive: true }))
  const files = await readdir(filled)
  const blocks: CopyBlock[] = []
  for (const name of (await readdir(migrations)).toSorted()) {
    await copyFile(join(migrations, name), join(dir, name))
    const rows = `filled-${name.slice(0, 4)}.copy.txt`
    if (!files.includes(rows)) continue
    await migrate(deps, address, dir)
    const read = await readCopyText(join(filled, rows), Date.now())
    // As the program: partitions that the rows need are its own.
    await client.query(`SET ROLE ${programRole}`)
    await loadCopyText(client, read)
    await client.query('RESET ROLE')
    blocks.push(...read)
  }
  await migrate(deps, address)
  const s = await createScenario(bundlePostgres({ database: openDatabase(t, address), client }))
  return {
    s,
    client,
    rowsOf: (table: string) => blocks.filter((b) => b.table === table).flatMap((b) => b.rows),
  }
}

type Filled = Awaited<ReturnType<typeof migrateFilled>>

const instant = (text: string | null | undefined) =>
  text === null || text === undefined ? null : epochMs(Date.parse(text.replace(' ', 'T').replace('+00', 'Z')))
const listOf = (text: string | null | undefined) => (text === '{}' ? [] : text!.slice(1, -1).split(','))

for (const version of POSTGRES_VERSIONS) {
  test(`PostgreSQL ${version}: a filled database keeps every row, and its meaning, through all later migrations`, async (t) => {
    const filledDatabase = await migrateFilled(t, version)
    await assertCounts(filledDatabase)
    await assertJobs(filledDatabase)
    await assertHistory(filledDatabase)
    await assertFolds(filledDatabase)
    await assertBackfills(filledDatabase)
    await assertClaimAndFinish(filledDatabase)
    await assertGraphRunGoesOn(filledDatabase)
    await assertTiers(filledDatabase)
    await assertHealth(filledDatabase)
    await assertClockRule(filledDatabase)
  })
}

const isNoted = ({ version, deleted_at: deletedAt }: Record<string, string | null>) =>
  version !== '1' || (deletedAt ?? null) !== null

async function assertCounts({ client, rowsOf }: Filled): Promise<void> {
  const { rows } = await client.query<{ table: string }>(
    `SELECT c.relname AS table FROM pg_class c
     WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
       AND c.relname <> 'schema_migrations' ORDER BY 1`,
  )
  const found: Record<string, number> = {}
  const expected: Record<string, number> = {}
  for (const { table } of rows) {
    const counted = await client.query(`SELECT count(*)::int AS count FROM ${table}`)
    found[table] = counted.rows[0].count
    expected[table] = rowsOf(table).length + (ownRows[table] ?? 0)
  }
  // Migration 25 notes the jobs that have versions to prune.
  expected['version_notes'] = rowsOf('jobs').filter((job) => isNoted(job)).length
  assert.deepEqual(found, expected)
}

async function assertJobs({ s, client, rowsOf }: Filled): Promise<void> {
  const versions = rowsOf('job_versions')
  const cursors = rowsOf('cursors')
  for (const { job_id: jobId, tenant_id: tenantId, version } of rowsOf('jobs')) {
    const job = await s.jobs.get(tenantId!, jobId!)
    assert(job !== null, `the job ${jobId} is readable`)
    const written = versions.find((v) => v['job_id'] === jobId && v['version'] === version)!
    const cursor = cursors.find((c) => c['job_id'] === jobId)!
    assert.deepEqual(
      [job.name, job.tags, job.schedule, job.execution, job.status, job.slotAt, job.overlapPolicy],
      [
        written['name'],
        listOf(written['tags']),
        JSON.parse(written['schedule']!),
        JSON.parse(written['execution']!),
        cursor['status'],
        instant(cursor['slot_at']),
        written['overlap_policy'],
      ],
    )
    const { rows } = await client.query(
      `SELECT j.search, v.route, v.own_rows, c.tenant_id FROM jobs j JOIN job_versions v USING (job_id, version)
       JOIN cursors c USING (job_id) WHERE j.job_id = $1`,
      [jobId],
    )
    // Migration 4 ended the text of a job without tags in one more line break than the program does: no search sees it.
    rows[0].search = rows[0].search.trimEnd()
    assert.deepEqual(rows[0], {
      search: searchTextOf(job).trimEnd(),
      route: routeOf(job),
      own_rows: hasOwnRows(job),
      tenant_id: tenantId,
    })
  }
  const reports = await s.jobs.count(defaultTenantId, { status: null, tag: null, q: 'daily' })
  assert.equal(reports.total, 1)
}

/** Positions of batches, rows of `live`, and final attempts: each execution of a job, once. */
async function assertHistory({ s, rowsOf }: Filled): Promise<void> {
  const finals = rowsOf('attempts').filter((row) => row['final'] === 't')
  for (const { job_id: jobId, tenant_id: tenantId } of rowsOf('jobs')) {
    const isOfJob = (row: Record<string, string | null>) => row['job_id'] === jobId
    const batched = rowsOf('batches').flatMap((row) => {
      const positions = listOf(row['positions'])
      return listOf(row['job_ids']).flatMap((id, index) =>
        id === jobId ? [executionIdAt(row['batch_id']!, Number(positions[index]))] : [],
      )
    })
    const singles = [...rowsOf('live'), ...finals].filter(isOfJob).map((row) => row['execution_id']!)
    const page = await s.executions.listExecutions({ ...allExecutions, tenantId: tenantId!, jobId: jobId! })
    assert.deepEqual(
      page!.executions.map(({ executionId }) => executionId).toSorted(),
      [...batched, ...singles].toSorted(),
      `the executions of ${jobId}`,
    )
  }
  for (const row of finals) {
    const view = await s.executions.getExecution(row['tenant_id']!, row['execution_id']!)
    const attempts = rowsOf('attempts').filter((one) => one['execution_id'] === row['execution_id'])
    assert.deepEqual(
      [view!.status, view!.attempts.length, view!.deadLetter],
      [statusOfOutcome(row['outcome'] as 'succeeded'), attempts.length, row['dead_letter'] === 't'],
    )
  }
  for (const row of rowsOf('dead_letters')) {
    const letter = await s.deadLetters.get(row['tenant_id']!, row['execution_id']!)
    assert.equal(letter!.reason, row['reason'])
  }
}

/** Migrations 4 and 9 begin their folds at the first record, not at the moment of the migration. */
async function assertFolds({ s, client, rowsOf }: Filled): Promise<void> {
  const first = Math.min(...rowsOf('attempts').map((row) => instant(row['recorded_at'])!))
  const { rows } = await client.query(
    `SELECT (SELECT to_ms(folded_to) FROM stats_feed)::float8 AS stats,
       (SELECT to_ms(folded_to) FROM rollup_feeds WHERE feed = 'tenant')::float8 AS tenant`,
  )
  assert.equal(rows[0].stats, first)
  assert(rows[0].tenant <= first, 'the rollups begin at or before the first record')
  await s.foldRollups()
  const folded = await client.query(
    `SELECT sum(succeeded)::int AS succeeded FROM tenant_activity WHERE step = 86400`,
  )
  const succeeded = rowsOf('attempts').filter((row) => row['final'] === 't' && row['outcome'] === 'succeeded')
  assert.equal(folded.rows[0].succeeded, succeeded.length)
}

async function assertBackfills({ client }: Filled): Promise<void> {
  const { rows } = await client.query(
    `SELECT (SELECT count(*)::int FROM batches WHERE (worker_id IS NULL) <> (claimed_at IS NULL)) AS claims,
       (SELECT count(*)::int FROM run_notes n JOIN jobs j USING (job_id) WHERE n.tenant_id <> j.tenant_id) AS notes,
       (SELECT count(*)::int FROM skips WHERE version <> 1) AS skips`,
  )
  assert.deepEqual(rows[0], { claims: 0, notes: 0, skips: 0 })
}

/** The waiting executions of the shared lane, claimed and finished by a worker of today. */
async function assertClaimAndFinish({ s, rowsOf }: Filled): Promise<void> {
  const waiting = rowsOf('batches').filter((row) => row['worker_id'] === null)
  const ready = rowsOf('live').filter((row) => row['state'] === 'ready' && row['host'] === null)
  const workerId = await s.addWorker()
  const { batches, live } = await s.claim(workerId)
  assert.deepEqual(
    [...batches.map(({ batchId }) => batchId), ...live.map(({ executionId }) => executionId)].toSorted(),
    [...waiting.map((row) => row['batch_id']), ...ready.map((row) => row['execution_id'])].toSorted(),
  )
  for (const batch of batches) await s.finishBatch(workerId, batch, s.succeeded())
  for (const one of live) await s.finishLive(workerId, one, s.succeeded())
  for (const row of ready) {
    const view = await s.view(row['execution_id']!, row['tenant_id']!)
    assert.equal(view.status, 'SUCCEEDED')
  }
}

/** The root of a run had ended before the migration; its note releases the node behind it. */
async function assertGraphRunGoesOn({ s, rowsOf }: Filled): Promise<void> {
  const run = rowsOf('graph_runs').find((row) => row['status'] === 'RUNNING')!
  const tools = { newExecutionId: () => s.ids.nextBatch(), laneOf: () => sharedLane }
  assert.deepEqual(await s.runSteps.findNoted(10, true), [run['run_id']])
  await s.runSteps.step([run['run_id']!], tools)
  const view = await s.graphRuns.get(run['tenant_id']!, run['run_id']!)
  assert.deepEqual(
    view!.plan.map(({ state }) => state),
    ['succeeded', 'going'],
  )
}

/** Migration 35 folds the health of jobs from the oldest record on. */
async function assertHealth({ s, client }: Filled): Promise<void> {
  await s.foldRollups()
  const { rows } = await client.query<{
    job_id: string
    tenant_id: string
    last_id: string
    failed: boolean
  }>(
    `SELECT DISTINCT ON (a.job_id) a.job_id, a.tenant_id, a.execution_id AS last_id, a.outcome <> 'succeeded' AS failed
     FROM attempts a JOIN jobs j ON j.job_id = a.job_id AND j.deleted_at IS NULL
     WHERE a.final AND a.outcome NOT IN ('cancelled', 'skipped') ORDER BY a.job_id, a.execution_id DESC`,
  )
  assert(rows.some(({ failed }) => failed) && rows.some(({ failed }) => !failed))
  for (const { job_id: jobId, tenant_id: tenantId, last_id: lastId, failed } of rows) {
    const health = await s.jobHealth.get(tenantId, jobId)
    assert.deepEqual([health!.last.executionId, health!.failures > 0], [lastId, failed])
  }
}

/** Migrations 27 to 29 give limits to the tiers of an installation, and none to a tier that an operator added. */
async function assertTiers({ s, rowsOf }: Filled): Promise<void> {
  const added = rowsOf('tiers').map(({ tier, weight, history_days: days }) => ({
    ...unlimitedTier,
    tier: tier!,
    weight: Number(weight),
    historyDays: Number(days),
  }))
  const byName = (tiers: readonly Tier[]) => tiers.toSorted((a, b) => (a.tier < b.tier ? -1 : 1))
  assert(added.length > 0)
  assert.deepEqual(byName(await s.tiers.list()), byName([...firstTiers, ...added]))
}

/** Migration 20 lists versions that may be by clock rule 1; a job of them moves to rule 2 only where the rules differ. */
async function assertClockRule({ s, client, rowsOf }: Filled): Promise<void> {
  const { rows } = await client.query('SELECT FROM job_versions WHERE implied_dst IS NOT NULL')
  assert.deepEqual(rows, [], 'no version was looked at before the program started')
  const written = rowsOf('job_versions').filter(({ schedule }) => schedule!.includes('*/15'))
  const inBerlin = written.filter(({ schedule }) => schedule!.includes('Europe/Berlin'))
  const older = await s.jobVersions.findOlder(null, 100)
  assert.deepEqual(
    older.map(({ jobId }) => jobId).toSorted(),
    inBerlin.map((row) => row['job_id']).toSorted(),
  )

  await new ClockRuleMover({ jobs: s.jobs, jobVersions: s.jobVersions, onChanged: () => {} }).step()
  assert.deepEqual(await s.jobVersions.findOlder(null, 100), [])
  for (const { job_id: jobId, tenant_id: tenantId, name, schedule } of written) {
    const job = await s.jobs.get(tenantId!, jobId!)
    const given = JSON.parse(schedule!)
    const expected =
      name === 'two fires in Berlin'
        ? [2, 'carillon', { ...given, dst_gap: 'run_after', dst_fold: 'first' }]
        : [1, 'operator', given]
    assert.deepEqual([job!.version, job!.updatedBy, job!.schedule], expected, name!)
  }
}
