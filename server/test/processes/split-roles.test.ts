// One process for each role, as on four machines: a job goes through all of them, and each does its own part only.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import test from 'node:test'
import { type ExecutionItem, until } from '../e2e/api.ts'
import { launcher } from '../e2e/program.ts'
import { startReceiver } from '../e2e/receiver.ts'
import { createFleet, fleetKey, type Process, withTime } from './fleet.ts'

interface ActivityItem {
  succeeded: number
}

/** The word of `carillon doctor` on the history, as a person would ask for it. */
async function askDoctor({ url }: Process): Promise<string> {
  const args = [launcher, 'doctor', '--json', '--url', url!, '--key', fleetKey]
  const out = await new Promise<string>((resolve) => {
    // It ends with exit code 9 when anything is wrong, and says so all the same.
    execFile(process.execPath, args, (_error, stdout) => resolve(stdout))
  })
  const { checks } = JSON.parse(out) as { checks: { name: string; state: string; detail: string }[] }
  const { state, detail } = checks.find(({ name }) => name === 'history')!
  return `${state}: ${detail}`
}

test(
  'an api, a scheduler, a worker and a history process each do their own part of a job, and doctor knows which folds history',
  withTime,
  async (t) => {
    const fleet = await createFleet(t)
    const receiver = await startReceiver(t)
    const [main, scheduler, , history] = await Promise.all(
      ['api', 'scheduler', 'worker', 'history'].map((role) => fleet.start(role)),
    )
    const { api } = main!
    const request = {
      name: 'every second',
      schedule: { cron_expression: '* * * * * *' },
      execution: { callback_url: receiver.url },
    }
    const { job_id: jobId } = await api.post<{ job_id: string }>('/jobs', request, 201)
    await until(() => (receiver.calls.length > 0 ? true : null), 'its call arrives')
    const { executions } = await until(async () => {
      const page = await api.get<{ executions: ExecutionItem[] }>(
        `/jobs/${jobId}/executions?status=SUCCEEDED`,
      )
      return page.executions.length > 0 ? page : null
    }, 'its execution is on record')
    assert.equal(executions.at(-1)!.kind, 'slot')

    // Without the scheduler only the history process is left to fold.
    await scheduler!.stop()
    await until(async () => {
      const { activity } = await api.get<{ activity: ActivityItem[] }>('/activity?step=minute')
      return activity.some(({ succeeded }) => succeeded > 0) ? true : null
    }, 'its history is folded')
    assert.equal(await askDoctor(main!), 'ok: folded by 1 process with the role history')

    // Killed, it says nothing: it counts as alive for the rest of its term, which is over at once here.
    history!.signal('SIGKILL')
    await history!.program.exit
    await fleet.client.query(`UPDATE history_processes SET beat_at = beat_at - interval '15 seconds'`)
    assert.equal(
      await askDoctor(main!),
      'fail: no process folds it: the numbers of dashboards are not updated',
    )
  },
)
