// A worker with a job on a schedule and a typed payload. Needs CARILLON_API_KEY, and CARILLON_URL unless it is here.
// Ctrl-C stops it: running attempts may end, the rest goes to other workers.
import { createClient, createWorker, defineJob, type StandardSchema } from '@carillon/sdk'

const url = process.env['CARILLON_URL'] ?? 'http://127.0.0.1:7420'
const key = process.env['CARILLON_API_KEY'] ?? ''

interface Report {
  team: string
  copies: number
}

// Any Standard Schema will do: z.object({ team: z.string(), copies: z.number().default(1) }) of zod is the same.
const reportSchema: StandardSchema<{ team: string; copies?: number }, Report> = {
  '~standard': {
    version: 1,
    vendor: 'example',
    validate(value) {
      const { team, copies = 1 } = (value ?? {}) as Partial<Report>
      if (typeof team !== 'string') return { issues: [{ message: 'must be a text', path: ['team'] }] }
      if (typeof copies !== 'number') return { issues: [{ message: 'must be a number', path: ['copies'] }] }
      return { value: { team, copies } }
    },
  },
}

const sendReport = defineJob({
  key: 'send-report',
  schema: reportSchema,
  schedule: '*/5 * * * * *', // every 5 seconds
  payload: { team: 'sales' },
  retry: { maxRetries: 5 },
  async run({ team, copies }, ctx) {
    ctx.log.info('sending', copies, 'to', team)
    console.log(`report for ${team}, ${copies}x, of ${ctx.scheduledTime.toISOString()}`)
    return { sent: copies }
  },
})

const worker = await createWorker({ url, key, jobs: [sendReport] })
// Besides its schedule: once, now, with a payload of its own. The type of the payload is checked.
const { execution_id } = await createClient({ url, key }).jobs.start(sendReport, {
  team: 'support',
  copies: 2,
})
console.log(`started ${execution_id}`)
await worker.stopped
