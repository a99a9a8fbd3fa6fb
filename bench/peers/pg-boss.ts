// pg-boss on PostgreSQL: insert() of many; workers that take batches, go on at once while batches are full, and are woken
// by NOTIFY (its docs, "Workers"). A batch is completed in one statement. Ended jobs stay for days.
import pg from 'pg'
import { PgBoss } from 'pg-boss'
import { enqueueInParts, type Peer } from './peer.ts'

const name = 'noop'
const insertCallsAtOnce = 2
const workers = 2
const batchSize = 2_000

export const pgBoss: Peer = {
  keepsEnded: true,

  async prepare(place) {
    const boss = await start(place)
    await boss.createQueue(name, { notify: true })
    await boss.stop()
  },

  async createQueue(place) {
    const boss = await start(place)
    const client = new pg.Client({ connectionString: place })
    client.on('error', () => {})
    await client.connect()
    const count = async (state: string) => {
      const { rows } = await client.query(`SELECT count(*)::int AS jobs FROM pgboss.job WHERE ${state}`)
      return rows[0].jobs
    }
    return {
      enqueue: (jobs) =>
        enqueueInParts(jobs, insertCallsAtOnce, (some) =>
          boss.insert(
            name,
            Array.from({ length: some }, () => ({ data: {} })),
          ),
        ),
      countOpen: () => count(`name = '${name}' AND state <> 'completed'`),
      countKept: () => count(`name = '${name}' AND state = 'completed'`),
      async [Symbol.asyncDispose]() {
        await client.end()
        await boss.stop()
      },
    }
  },

  async startWorker(place, onRun) {
    const boss = await start(place)
    const options = {
      localConcurrency: workers,
      batchSize,
      burstWhenBatchFull: true,
      pollingIntervalSeconds: 0.5,
      notifyPollingIntervalSeconds: 0.5,
    }
    await boss.work(name, options, async (jobs) => {
      for (const _ of jobs) onRun()
    })
    return { [Symbol.asyncDispose]: () => boss.stop() }
  },
}

async function start(place: string): Promise<PgBoss> {
  const boss = new PgBoss({ connectionString: place, useListenNotify: true, schedule: false })
  boss.on('error', (error) => console.error(error))
  await boss.start()
  return boss
}
