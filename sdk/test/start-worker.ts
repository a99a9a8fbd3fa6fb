// A worker against the scripted protocol, and handlers that wait until they are let go.
import type { TestContext } from 'node:test'
import { cleanUp } from '../../server/test/cleanup.ts'
import { defineJob, type JobContext, type JobOptions } from '../src/define-job.ts'
import { createWorker, type WorkerOptions } from '../src/worker.ts'
import type { WorkerEvent } from '../src/worker-events.ts'
import { type ScriptedWorkers, startScriptedWorkers } from './scripted-workers.ts'

type Run = JobOptions<unknown, unknown>['run']

export async function startWorker(
  t: TestContext,
  run: Run,
  options: Partial<WorkerOptions> = {},
  prepare?: (api: ScriptedWorkers) => void,
) {
  const api = await startScriptedWorkers(t)
  prepare?.(api)
  const events: WorkerEvent[] = []
  const worker = await createWorker({
    url: api.url,
    key: 'k',
    jobs: [defineJob({ key: 'work', run })],
    handleSignals: false,
    onEvent: (event) => events.push(event),
    ...options,
  })
  cleanUp(t, () => worker.stop({ drainSeconds: 0 }))
  return { api, worker, events, types: () => events.map(({ type }) => type) }
}

/** A handler that waits until it is let go, or told to stop. */
export function gate() {
  const running = new Map<string, JobContext>()
  const doors = new Map<string, (value: unknown) => void>()
  const run: Run = (_, ctx) =>
    new Promise((resolve, reject) => {
      running.set(ctx.executionId, ctx)
      doors.set(ctx.executionId, resolve)
      ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason))
    })
  return { run, running, open: (id: string, value?: unknown) => doors.get(id)!(value) }
}
