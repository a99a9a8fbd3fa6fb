// graphile-worker on PostgreSQL, as worker.graphile.org/docs/performance configures it: 24 jobs at once, ends written in
// batches without a delay, a local queue; that of 2,000 instead of 500, which its documentation allows for jobs as short as
// these and which is half as fast again. add_jobs for many. It deletes a job that has ended.
import { Logger, makeWorkerUtils, run, runMigrations } from 'graphile-worker'
import pg from 'pg'
import { enqueueInParts, type Peer } from './peer.ts'

const identifier = 'noop'
const logger = new Logger(() => () => {})
const addCallsAtOnce = 2

export const graphileWorker: Peer = {
  keepsEnded: false,

  async prepare(place) {
    await runMigrations({ connectionString: place, logger })
  },

  async createQueue(place) {
    const utils = await makeWorkerUtils({ connectionString: place, logger })
    const client = new pg.Client({ connectionString: place })
    client.on('error', () => {})
    await client.connect()
    return {
      enqueue: (jobs) =>
        enqueueInParts(jobs, addCallsAtOnce, (some) =>
          utils.addJobs(Array.from({ length: some }, () => ({ identifier, payload: {} }))),
        ),
      countOpen: async () =>
        (await client.query('SELECT count(*)::int AS jobs FROM graphile_worker.jobs')).rows[0].jobs,
      countKept: async () => 0,
      async [Symbol.asyncDispose]() {
        await client.end()
        await utils.release()
      },
    }
  },

  async startWorker(place, onRun) {
    const runner = await run({
      noHandleSignals: true,
      logger,
      taskList: { [identifier]: onRun },
      preset: {
        worker: {
          connectionString: place,
          concurrentJobs: 24,
          maxPoolSize: 25,
          localQueue: { size: 2_000 },
          completeJobBatchDelay: 0,
          failJobBatchDelay: 0,
        },
      },
    })
    return { [Symbol.asyncDispose]: () => runner.stop() }
  },
}
