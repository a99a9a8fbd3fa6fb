// Jobs that run after each other: extract, then two side by side, then load with their results; and an alert that runs
// only when load fails. With `fail` the first load fails, and the run is resumed from there.
import { createClient, createWorker, defineJob, type JobContext } from '@carillon/sdk'

const url = process.env['CARILLON_URL'] ?? 'http://127.0.0.1:7420'
const key = process.env['CARILLON_API_KEY'] ?? ''
let isBroken = process.argv.includes('fail')

const extract = defineJob({ key: 'extract', schedule: 'every day at 03:00', run: () => [3, 1, 2] })
// Triggered alone it has no parents.
const rowsOf = (ctx: JobContext) => (ctx.parents[0]?.result ?? []) as number[]

const sort = defineJob({
  key: 'sort',
  dependsOn: [extract],
  run: (_, ctx) => ({ rows: rowsOf(ctx).toSorted() }),
})
const sum = defineJob({
  key: 'sum',
  dependsOn: [extract],
  run: (_, ctx) => ({ sum: rowsOf(ctx).reduce((total, row) => total + row, 0) }),
})
const load = defineJob({
  key: 'load',
  dependsOn: [sort, sum],
  retry: { maxRetries: 0 },
  run(_, ctx) {
    if (isBroken) throw new Error('the warehouse is closed')
    console.log('loaded', JSON.stringify(Object.assign({}, ...ctx.parents.map(({ result }) => result))))
  },
})
const alert = defineJob({
  key: 'alert',
  dependsOn: [{ job: load, on: 'failure' }],
  run: (_, ctx) => console.log(`alert: load ${ctx.parents[0]?.status}`),
})

const worker = await createWorker({ url, key, jobs: [extract, sort, sum, load, alert] })
const client = createClient({ url, key })

async function waitFor(graphRunId: string): Promise<string> {
  for (;;) {
    const { status, nodes } = await client.graphRuns.get(graphRunId)
    const skipped = nodes.filter((node) => node.status === 'SKIPPED').map((node) => node.job_name)
    if (status !== 'RUNNING') return `${status}, skipped: ${skipped.join(', ') || 'nothing'}`
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

// Besides its schedule: now.
const { graph_run_id: runId } = await client.jobs.trigger(worker.jobIds.get('extract')!)
console.log(`the run ${await waitFor(runId!)}`)
if (isBroken) {
  isBroken = false
  await client.graphRuns.resume(runId!)
  console.log(`resumed, the run ${await waitFor(runId!)}`)
}
await worker.stop()
