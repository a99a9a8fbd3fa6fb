// Three whole servers on one PostgreSQL, and rounds of long calls: how many of them each server holds.
import type { ServerResponse } from 'node:http'
import type { TestContext } from 'node:test'
import { until } from '../e2e/api.ts'
import { startReceiver } from '../e2e/receiver.ts'
import { createFleet, untilHeldBy } from './fleet.ts'

export const longCalls = 12
const servers = 3
/** Time for all servers to load new jobs into their due queues. */
const leadSeconds = 3

export interface LongCallsScene {
  /** Triggers a job for each call over one server; `inTurn`: each one after the answer to the one before. */
  trigger(options: { inTurn: boolean }): Promise<void>
  /** Creates cron jobs that are all due in the same second. */
  createDue(): Promise<void>
  /** Waits until all calls have been under way for a while; returns how many each server holds, the largest number first. */
  countHeld(): Promise<number[]>
  /** Answers all calls and waits until their executions have ended. */
  end(): Promise<void>
}

export async function setupLongCalls(t: TestContext): Promise<LongCallsScene> {
  const fleet = await createFleet(t)
  const { client } = fleet
  const open: ServerResponse[] = []
  const receiver = await startReceiver(t, { answer: (_call, response) => void open.push(response) })
  const processes = await Promise.all(
    Array.from({ length: servers }, () => fleet.start('api,scheduler,worker')),
  )
  await untilHeldBy(fleet, servers)
  const { api } = processes[0]!
  const execution = { callback_url: receiver.url, timeout_seconds: 120 }
  const create = async (name: string, schedule: object) => {
    const { job_id: jobId } = await api.post<{ job_id: string }>('/jobs', { name, schedule, execution }, 201)
    return jobId
  }
  const jobs: string[] = []
  for (let i = 0; i < longCalls; i++)
    jobs.push(await create(`triggered ${i}`, { cron_expression: '0 0 1 1 *' }))
  let rounds = 0
  return {
    async trigger({ inTurn }) {
      const send = (jobId: string) => api.post(`/jobs/${jobId}/trigger`, {}, 202)
      if (inTurn) for (const jobId of jobs) await send(jobId)
      else await Promise.all(jobs.map(send))
    },
    async createDue() {
      const at = new Date(Date.now() + leadSeconds * 1_000)
      const cron = `${at.getUTCSeconds()} ${at.getUTCMinutes()} ${at.getUTCHours()} * * *`
      rounds += 1
      const names = Array.from({ length: longCalls }, (_, i) => `due ${rounds} ${i}`)
      await Promise.all(names.map((name) => create(name, { cron_expression: cron })))
    },
    countHeld() {
      return until(async () => {
        // After a second an execution counts as a long one; it has left its batch by then.
        const { rows } = await client.query<{ held: number }>(`
          SELECT count(*)::int AS held FROM live
          WHERE state = 'running' AND started_at < clock_timestamp() - interval '1100 milliseconds'
          GROUP BY worker_id ORDER BY held DESC`)
        const held = rows.map((row) => row.held)
        return held.reduce((sum, one) => sum + one, 0) === longCalls ? held : null
      }, `${longCalls} long calls are under way`)
    },
    async end() {
      for (const response of open.splice(0)) response.end('{}')
      await until(async () => {
        const { rows } = await client.query('SELECT FROM live UNION ALL SELECT FROM batches')
        return rows.length === 0 ? true : null
      }, 'all executions have ended')
    },
  }
}
