// A job that takes long, survives kill -9 and goes on where it was. Run it with `start` once; kill it with -9 in the middle;
// run it again without: about ten seconds later the server notices, and the next attempt begins at the last checkpoint.
import { createClient, createWorker, defineJob } from '@carillon/sdk'

const url = process.env['CARILLON_URL'] ?? 'http://127.0.0.1:7420'
const key = process.env['CARILLON_API_KEY'] ?? ''

const copyRows = defineJob<{ rows: number; pauseMs: number }>({
  key: 'copy-rows',
  timeout: '6h',
  heartbeatTimeout: '1m',
  async run({ rows, pauseMs }, ctx) {
    const first = (ctx.checkpoint as { row: number } | undefined)?.row ?? 0
    console.log(`attempt ${ctx.attempt} begins at row ${first}`)
    for (let row = first; row < rows; row++) {
      ctx.signal.throwIfAborted()
      await new Promise((resolve) => setTimeout(resolve, pauseMs))
      // Awaited: a row is never copied again once this has returned.
      await ctx.saveCheckpoint({ row: row + 1 })
      ctx.progress((row + 1) / rows, `row ${row + 1} of ${rows}`)
      console.log(`row ${row + 1} of ${rows}`)
    }
    console.log('done')
    return { rows }
  },
})

const worker = await createWorker({ url, key, jobs: [copyRows] })
if (process.argv.includes('start')) {
  const { execution_id } = await createClient({ url, key }).jobs.start(copyRows, { rows: 30, pauseMs: 500 })
  console.log(`started ${execution_id}`)
}
await worker.stopped
