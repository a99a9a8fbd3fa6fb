// The same work in a worker of the SDK, in a process of its own that `bench handlers` forks.
import { defineJob } from '../sdk/src/define-job.ts'
import { createWorker } from '../sdk/src/worker.ts'

const { CARILLON_URL: url, CARILLON_KEY: key } = process.env
const noop = defineJob({ key: 'noop-sdk', run() {} })
const worker = await createWorker({
  url: url!,
  key: key!,
  jobs: [noop],
  concurrency: 500,
  handleSignals: false,
})
process.on('disconnect', async () => {
  await worker.stop()
  process.exit(0)
})
process.send!({ ready: true })
