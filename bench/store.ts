// npm run bench -- store [--quick]: the cost of the store alone per execution, call by call: CPU of PostgreSQL and of
// the calling process. Jobs due every second fire, are claimed and finish, through the very ports that schedulers and
// workers use; no target is called. Shows the effect of a changed statement within half a minute.
import { batchExecutionsMax, executionIdAt } from '@carillon/server/domain/queue/execution.ts'
import { serverRoute } from '@carillon/server/domain/queue/route.ts'
import { UuidV7 } from '@carillon/server/lib/id.ts'
import { realRandom } from '@carillon/server/lib/random.ts'
import type { EpochMs } from '@carillon/server/lib/time/epoch.ts'
import { realTimers } from '@carillon/server/lib/time/timers.ts'
import type { FinishedBatch } from '@carillon/server/ports/queue.ts'
import type { SlotToFire } from '@carillon/server/ports/slots.ts'
import { Database } from '@carillon/server/postgres/connection/database.ts'
import { PostgresQueue } from '@carillon/server/postgres/queue/queue.ts'
import { PostgresWorkers } from '@carillon/server/postgres/queue/workers.ts'
import { PostgresSlots } from '@carillon/server/postgres/scheduling/slots.ts'
import type pg from 'pg'
import { makeDataDir, startCarillon } from './carillon.ts'
import { requireDisk } from './disk.ts'
import { defaultTenantId, withDatabase } from './due-jobs.ts'
import { wait } from './load.ts'
import type { BenchOptions } from './main.ts'
import { figure, say, table } from './output.ts'
import { measureTree } from './process-tree.ts'
import { registerJobs } from './register.ts'

const jobsCount = 10_000
/** Jobs in one fire, and executions in one finish, as the scheduler and the worker have them. */
const fireMax = 500
const finishMax = 2_000
/** A tenant that enqueues much has a lane of its own. */
const lane = defaultTenantId
/** The first rounds plan statements and fill caches. */
const warmUps = 5
/** Each moves its job's cursor, as a daily one does, or leaves it, as one that is due again within the minute. */
const kinds = ['due again', 'moved'] as const
const steps = ['fire', 'claim', 'finish'] as const
type Kind = (typeof kinds)[number]

interface Cost {
  postgresUs: number
  ownUs: number
  ms: number
}

export async function run({ quick }: BenchOptions): Promise<void> {
  await requireDisk(2)
  const rounds = quick ? 15 : 60
  await using dataDir = await makeDataDir()
  await using carillon = await startCarillon(dataDir.path, undefined, { CARILLON_ROLES: 'api' })
  const address = { socketDir: `${dataDir.path}/pg`, database: 'carillon' }
  const deps = { timers: realTimers, random: realRandom }
  await using database = new Database(deps, { name: 'bench', address, connectionsMax: 2 })
  const bench = new StoreBench(database, () => measureTree(carillon.child.pid!).postgres.cpuSeconds)
  await withDatabase(dataDir.path, async (client) => {
    await registerJobs(client, jobsCount)
    await bench.prepare(client)
    const costs = new Map<string, Cost>()
    for (let round = -warmUps; round < rounds; round++)
      for (const kind of kinds) await bench.round(kind, round < 0 ? new Map() : costs)
    report(costs, rounds * jobsCount)
  })
}

class StoreBench {
  readonly #slots: PostgresSlots
  readonly #queue: PostgresQueue
  readonly #workers: PostgresWorkers
  readonly #ids = new UuidV7(() => Date.now() as EpochMs, realRandom)
  readonly #workerId = this.#ids.next()
  readonly #postgresSeconds: () => number
  #jobIds: string[] = []
  /** Slots lie in the past, one second after the other. */
  #slot = (Math.floor(Date.now() / 1_000) * 1_000 - 3_600_000) as EpochMs

  constructor(database: Database, postgresSeconds: () => number) {
    this.#slots = new PostgresSlots(database)
    this.#queue = new PostgresQueue(database)
    this.#workers = new PostgresWorkers(database)
    this.#postgresSeconds = postgresSeconds
  }

  async prepare(client: pg.Client): Promise<void> {
    const { rows } = await client.query<{ job_id: string }>(
      'SELECT job_id FROM jobs ORDER BY md5(job_id::text)',
    )
    this.#jobIds = rows.map((row) => row.job_id)
    const own = { host: 'bench', version: '0', labels: [], executors: [], handlers: [], capacity: 1 }
    await this.#workers.register({ ...own, workerId: this.#workerId, tenantId: null } as never)
  }

  async round(kind: Kind, costs: Map<string, Cost>): Promise<void> {
    this.#slot = (this.#slot + 1_000) as EpochMs
    const fires = this.#plan(kind)
    await this.#cost(costs, `${kind} fire`, async () => {
      for (const slots of fires) {
        const answers = await this.#slots.fire(slots)
        if (answers.length > 0) throw new Error(`not fired: ${JSON.stringify(answers[0])}`)
      }
    })
    const finished: FinishedBatch[] = []
    await this.#cost(costs, `${kind} claim`, async () => {
      for (let left = jobsCount; left > 0; ) {
        const order = { workerId: this.#workerId, routes: [serverRoute], lanes: [{ lane, count: finishMax }] }
        await this.#queue.waiting(order.routes, 256)
        const { batches } = await this.#queue.claim({ ...order, hosts: [], batchesMax: 100 })
        for (const { batchId, fence, positions } of batches) {
          finished.push({
            batchId,
            fence,
            endings: positions.map((position) => ({ position, ending: this.#ending() })),
          })
          left -= positions.length
        }
        if (batches.length === 0) throw new Error(`${left} are not there to be claimed`)
      }
    })
    await this.#cost(costs, `${kind} finish`, async () => {
      const each = finishMax / batchExecutionsMax
      for (let at = 0; at < finished.length; at += each) {
        const answer = await this.#queue.finishBatches(this.#workerId, finished.slice(at, at + each))
        if (answer.missing.length > 0) throw new Error('a batch was not ours')
      }
    })
  }

  #plan(kind: Kind): SlotToFire[][] {
    const fires: SlotToFire[][] = []
    for (let at = 0; at < jobsCount; at += fireMax) {
      let batchId = ''
      fires.push(
        this.#jobIds.slice(at, at + fireMax).map((jobId, index) => {
          if (index % batchExecutionsMax === 0) batchId = this.#ids.nextBatch()
          return this.#slotOf(kind, jobId, executionIdAt(batchId, index % batchExecutionsMax))
        }),
      )
    }
    return fires
  }

  #slotOf(kind: Kind, jobId: string, executionId: string): SlotToFire {
    const slot = this.#slot
    const next = (slot + 86_400_000) as EpochMs
    return {
      ...{ jobId, version: 1, slot, dueAt: slot, executionId, route: serverRoute, lane, priority: 5 },
      ...{ overlapPolicy: 'SKIP', limited: false, ownRow: false, late: false, owedTo: null, owedPaceMs: 0 },
      ...{
        recordedAt: (slot - 1_000) as EpochMs,
        previousSlot: (slot - 1_000) as EpochMs,
        skipped: [],
        skip: null,
      },
      ...{ runs: null, calendars: null, graphId: null, runId: null },
      move: kind === 'moved' ? { slotAt: next, dueAt: next, decidedTo: slot } : null,
    }
  }

  #ending(): FinishedBatch['endings'][number]['ending'] {
    const startedAt = Date.now() as EpochMs
    const ended = { startedAt, finishedAt: (startedAt + 3) as EpochMs, durationMs: 3, httpStatus: 200 }
    return {
      kind: 'ended',
      end: { outcome: 'succeeded', ...ended, error: null, preview: 'ok', retryAt: null, deadReason: null },
    }
  }

  async #cost(costs: Map<string, Cost>, name: string, work: () => Promise<void>): Promise<void> {
    const cost = costs.get(name) ?? { postgresUs: 0, ownUs: 0, ms: 0 }
    const startedMs = performance.now()
    const postgres = this.#postgresSeconds()
    const own = process.cpuUsage()
    await work()
    const { user, system } = process.cpuUsage(own)
    cost.ms += performance.now() - startedMs
    cost.ownUs += user + system
    // CPU time of PostgreSQL is counted in hundredths of a second: small next to a round, and it evens out.
    await wait(5)
    cost.postgresUs += (this.#postgresSeconds() - postgres) * 1e6
    costs.set(name, cost)
  }
}

function report(costs: ReadonlyMap<string, Cost>, executions: number): void {
  const each = (us: number) => (us / executions).toFixed(1)
  table(
    [...costs].map(([name, { postgresUs, ownUs, ms }]) => ({
      step: name,
      'PostgreSQL µs': each(postgresUs),
      'own µs': each(ownUs),
      'elapsed µs': each(ms * 1_000),
    })),
  )
  say(
    'CPU an execution. Moved: the cursor goes on to the next day, as that of a job does that is not due again soon.',
  )
  for (const kind of kinds)
    for (const step of steps) {
      const { postgresUs, ownUs } = costs.get(`${kind} ${step}`)!
      const metric = `${step}_${kind.replace(' ', '_')}`
      figure({ bench: 'store', metric: `${metric}_postgresql`, value: postgresUs / executions, unit: 'µs' })
      figure({ bench: 'store', metric: `${metric}_own`, value: ownUs / executions, unit: 'µs' })
    }
}
