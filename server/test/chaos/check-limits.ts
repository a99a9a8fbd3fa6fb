// At no moment more executions of a job run than its overlap policy and its limit allow, nor more of all jobs with one key:
// each counts from the start of its first attempt to its end, as recorded.
import type { Picture, Recorded } from './check-picture.ts'
import { at } from './check-slots.ts'

/** Starts are told by workers, each with its own estimate of the database's clock. */
const clockMs = 50

export function checkLimits(picture: Picture): void {
  const { jobs, evidence } = picture
  const inGraphs = new Set(evidence.graphRuns.flatMap(({ jobIds }) => jobIds))
  for (const { job, versions, executions } of jobs) {
    const { overlap, limit } = versions.get(job.version) ?? versions.get(1)!
    // In a graph the policy is about runs, not about executions.
    const most = overlap === 'ALLOW' ? limit : inGraphs.has(job.jobId) ? null : 1
    if (most !== null) checkAtOnce(picture, `"${job.name}" (${job.jobId}, ${overlap})`, most, executions)
  }
  const keyed = jobs.flatMap(({ versions, job, executions }) => {
    const { key, keyLimit } = versions.get(job.version) ?? versions.get(1)!
    return key === null || keyLimit === null ? [] : [{ key, keyLimit, executions }]
  })
  for (const [key, members] of Map.groupBy(keyed, ({ key: name }) => name)) {
    const executions = members.flatMap((member) => member.executions)
    checkAtOnce(picture, `the key "${key}"`, members[0]!.keyLimit, executions)
  }
}

function checkAtOnce({ say }: Picture, name: string, most: number, executions: readonly Recorded[]): void {
  const steps = executions.flatMap(({ executionId, attempts, last }) => {
    const from = attempts.find(({ startedAt }) => startedAt !== null)?.startedAt
    if (from === undefined || from === null || !last.final || from >= last.recordedAt - clockMs) return []
    return [
      { ms: from, by: 1, executionId },
      { ms: last.recordedAt - clockMs, by: -1, executionId },
    ]
  })
  steps.sort((a, b) => a.ms - b.ms || a.by - b.by)
  const running = new Set<string>()
  for (const { ms, by, executionId } of steps) {
    if (by < 0) running.delete(executionId)
    else running.add(executionId)
    if (by > 0 && running.size > most)
      say('I20', `${name}: ${running.size} run at ${at(ms)}, of at most ${most}: ${[...running].join(', ')}`)
  }
}
