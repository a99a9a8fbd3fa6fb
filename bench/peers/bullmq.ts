// BullMQ on Redis: addBulk, and a worker of high concurrency (docs.bullmq.io, "Adding jobs in bulk", "Concurrency").
// Completed jobs stay in Redis, as they do unless removeOnComplete says otherwise.
import { Queue, Worker } from 'bullmq'
import { Redis } from 'ioredis'
import { enqueueInParts, type Peer } from './peer.ts'

const name = 'noop'
/** 50 to 1,000 come to the same: Redis has one thread. */
const concurrency = 100
const bulkCallsAtOnce = 2

export const bullmq: Peer = {
  keepsEnded: true,

  async prepare() {},

  async createQueue(place) {
    const connection = connect(place)
    const queue = new Queue(name, { connection })
    await queue.waitUntilReady()
    return {
      enqueue: (jobs) =>
        enqueueInParts(jobs, bulkCallsAtOnce, (some) =>
          queue.addBulk(Array.from({ length: some }, () => ({ name, data: {} }))),
        ),
      countOpen: async () => {
        const counts = await queue.getJobCounts('wait', 'active', 'delayed', 'prioritized', 'failed')
        return Object.values(counts).reduce((sum, count) => sum + count, 0)
      },
      countKept: () => queue.getCompletedCount(),
      async [Symbol.asyncDispose]() {
        await queue.close()
        connection.disconnect()
      },
    }
  },

  async startWorker(place, onRun) {
    const connection = connect(place)
    const worker = new Worker(name, async () => {}, { connection, concurrency })
    // Told once Redis has answered that it is on record.
    worker.on('completed', onRun)
    worker.on('error', (error) => console.error(error))
    await worker.waitUntilReady()
    return {
      async [Symbol.asyncDispose]() {
        await worker.close()
        connection.disconnect()
      },
    }
  },
}

function connect(place: string): Redis {
  return new Redis(place, { maxRetriesPerRequest: null })
}
