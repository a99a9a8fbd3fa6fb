// A shell command that kills the worker above it, again and again, until it is a dead letter.
import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import test from 'node:test'
import { realTimers } from '../../src/lib/time/timers.ts'
import { cleanUp } from '../cleanup.ts'
import { untilEnded } from '../commands.ts'
import { type ExecutionItem, until } from './api.ts'
import { startReceiver } from './receiver.ts'
import { ended, pidsIn, start } from './shell-scene.ts'

test('a command that kills its worker dies alone: its neighbours succeed, and nothing of it is left', async (t) => {
  const s = await start(
    t,
    `echo $$ >> "${'$'}{OUT}.groups"
     if [ "$1" = kill ]; then sleep 1000 & kill -9 $PPID || echo $PPID > "${'$'}{OUT}.kill"; sleep 1000; fi
     sleep 1; echo fine`,
  )
  const receiver = await startReceiver(t)
  const OUT = join(s.dir, 'out')
  // One batch of ten: jobs that fire at one instant.
  const at = new Date(Math.ceil(Date.now() / 1_000) * 1_000 + 3_000).toISOString()
  const schedule = { type: 'ONE_TIME', scheduled_time: at.replace('.000Z', 'Z') }
  const jobs: string[] = []
  for (let i = 0; i < 10; i++) {
    const args = i === 3 ? ['kill'] : []
    jobs.push(await s.createJob({ type: 'shell', command: s.command, args, env: { OUT } }, { schedule }))
  }
  // HTTP calls all the while.
  const neighbour = await s.createJob({ callback_url: receiver.url }, { schedule: 'R/PT1S' })
  const executionOf = (jobId: string) =>
    until(async () => {
      const { executions } = await s.api.get<{ executions: ExecutionItem[] }>(`/jobs/${jobId}/executions`)
      return executions[0]?.execution_id ?? null
    }, 'it fires')
  const ids = await Promise.all(jobs.map(executionOf))
  // A command of a server of root may not kill its worker: the test does it.
  const killing = killAsAsked(`${OUT}.kill`)
  cleanUp(t, () => killing.stop())
  const [killer, ...others] = [ids[3]!, ...ids.filter((_, i) => i !== 3)]
  for (const id of others) {
    const { status, attempts } = await ended(s.api, id)
    assert.equal(status, 'SUCCEEDED')
    assert(attempts.filter(({ outcome }) => outcome === 'lost').length <= 2, JSON.stringify(attempts))
  }
  const { status, dead_letter: isDead, attempts } = await ended(s.api, killer!)
  assert.deepEqual([status, isDead], ['FAILED', true])
  assert.deepEqual(
    attempts.map(({ outcome, error }) => [outcome, error?.type]).toSorted(),
    Array(5).fill(['lost', 'WORKER_LOST']),
  )
  const letter = await s.api.get<{ dlq_reason: string }>(`/dead-letters/${killer}`)
  assert.equal(letter.dlq_reason, 'WORKER_LOST')
  const { executions } = await s.api.get<{ executions: ExecutionItem[] }>(`/jobs/${neighbour}/executions`)
  const over = executions.filter((one) => one.status !== 'PENDING' && one.status !== 'RUNNING')
  assert(over.length > 5)
  assert(
    over.every((one) => one.status === 'SUCCEEDED' && one.attempt_number === 1),
    JSON.stringify(over),
  )
  const groups = await pidsIn(`${OUT}.groups`)
  assert(groups.length >= 14, String(groups))
  await untilEnded(groups)
})

/** Kills each process whose id appears in the file. */
function killAsAsked(file: string): { stop(): Promise<void> } {
  const stop = new AbortController()
  const done = (async () => {
    while (!stop.signal.aborted) {
      for (const pid of await pidsIn(file)) {
        await rm(file)
        process.kill(pid, 'SIGKILL')
      }
      await realTimers.wait(20, stop.signal)
    }
  })()
  return {
    async stop() {
      stop.abort()
      await done
    },
  }
}
