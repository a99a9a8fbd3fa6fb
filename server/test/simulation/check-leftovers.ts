// Checks the leftovers when all has ended: nothing in progress, no unexplained call, no dead letter without a death.
import type { CheckedJob, Context } from './checker.ts'

export function checkLeftovers({ evidence, say }: Context, jobs: readonly CheckedJob[]): void {
  const { store, sent } = evidence
  for (const { executionId, state, workerId } of store.live.values()) {
    say('I14', `execution ${executionId} is still ${state}, held by ${workerId ?? 'nobody'}`)
  }
  for (const { batchId, entries, workerId } of store.batches.values()) {
    say('I14', `batch ${batchId} with ${entries.length} executions is still held by ${workerId ?? 'nobody'}`)
  }
  for (const runId of store.runNotes.keys()) say('I14', `nobody looked at what was noted of run ${runId}`)
  for (const [jobId, roots] of store.runRoots)
    say('I14', `${roots.size} runs of ${jobId} still count as under way`)
  for (const { jobId, owed, cursor, ended } of store.jobs.values()) {
    for (const executionId of ended)
      if (store.log.of(executionId).length === 0) say('I14', `${executionId} ended and is on no record`)
    if (owed !== null) say('I14', `job ${jobId} still owes slots from ${owed.from}`)
    if (!cursor.depends && cursor.status !== 'COMPLETED' && cursor.status !== 'DELETED')
      say('I14', `job ${jobId} still waits for its slot ${cursor.slotAt}`)
  }
  const known = new Map(
    jobs.flatMap(({ executions }) => executions.map((one) => [one.executionId, one] as const)),
  )
  const strangers = new Set(sent.map(({ request }) => request.headers['x-execution-id']!))
  for (const executionId of strangers) {
    if (!known.has(executionId)) say('I2', `${executionId} was called and is on no record`)
  }
  for (const executionId of store.deadLetters.keys()) {
    const last = known.get(executionId)?.attempts.at(-1)
    if (last === undefined || last.outcome === 'succeeded') say('I18', `a dead letter for ${executionId}`)
  }
}
