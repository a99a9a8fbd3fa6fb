import assert from 'node:assert/strict'
import test from 'node:test'
import { realTimers } from '../lib/time/timers.ts'
import { processExited } from '../telemetry/events.ts'
import { ProcessReports } from '../telemetry/process-metrics.ts'
import { ChildProcesses } from './child-processes.ts'

test('a process that cannot be started is told of and tried again; the first one lives on', async (t) => {
  const { execPath } = process
  // As when the machine has no room for another process.
  process.execPath = '/nowhere/node'
  t.after(() => {
    process.execPath = execPath
  })
  const { promise, resolve } = Promise.withResolvers<string>()
  using _subscription = processExited.subscribe(({ reason }) => resolve(reason))
  const clock = { monotonicMs: () => performance.now() }
  const children = new ChildProcesses(
    { clock, timers: realTimers, reports: new ProcessReports(), reclaim: async () => {} },
    { processes: 2, commands: null, handlers: null },
  )
  assert.match(await promise, /ENOENT/)
  await children.stop(1_000)
})
