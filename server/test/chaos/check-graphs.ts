// Graph runs: each node ends once and as its run says, starts only when its parents have ended as its rules require, is
// skipped only when that has become impossible, and no run stays open.
import type { GraphRunRow } from './check-evidence.ts'
import type { Picture, Recorded } from './check-picture.ts'
import { at } from './check-slots.ts'

/** How a node state is stored, and the outcome that its execution has on record. */
const LETTERS: Readonly<Record<string, string>> = {
  s: 'succeeded',
  f: 'failed',
  t: 'timed_out',
  c: 'cancelled',
  d: 'skipped',
  p: 'skipped',
  x: 'skipped',
}
/** The node states that meet each rule. */
const RULES: Readonly<Record<string, string>> = { success: 's', failure: 'ft', completion: 'sft' }
/** A worker's estimate of the database's clock. */
const clockMs = 50

export function checkGraphs(picture: Picture): void {
  const { evidence, executions, say } = picture
  const byRun = Map.groupBy(executions.values(), ({ first }) => first.runId)
  for (const run of evidence.graphRuns) {
    if (run.finishedAt === null) {
      say('I14', `run ${run.runId} is still ${run.status}: ${run.states}`)
      continue
    }
    checkRun(picture, run, byRun.get(run.runId) ?? [])
  }
  for (const { runId, what } of evidence.runNotes) say('I14', `nobody looked at the ${what} of run ${runId}`)
}

function checkRun(picture: Picture, run: GraphRunRow, own: readonly Recorded[]): void {
  const { say } = picture
  const { runId, jobIds, executionIds, roles, states, resumes, status } = run
  const nodeIndexes = new Map(
    executionIds.flatMap((id, nodeIndex) => (id === null ? [] : [[id, nodeIndex] as const])),
  )
  for (const [jobId, list] of Map.groupBy(own, (one) => one.jobId))
    if (list.length > resumes + 1)
      say(
        'I19',
        `run ${runId} has ${list.length} executions of job ${jobId}: ${list.map((one) => one.executionId)}`,
      )
  if (resumes > 0) return
  for (const { executionId } of own)
    if (!nodeIndexes.has(executionId))
      say('I19', `${executionId} says it is in run ${runId}, which does not know it`)
  jobIds.forEach((jobId, nodeIndex) => {
    const [role, state] = [roles[nodeIndex]!, states[nodeIndex]!]
    if (role === 'o') return
    const executionId = executionIds[nodeIndex]
    const execution = own.find((one) => one.executionId === executionId)
    const name = `job ${jobId} of run ${runId}`
    if (state === 'o') {
      if (execution !== undefined) say('I19', `${name} did not run, and has ${executionId}`)
      return
    }
    // An execution that used up its losses is on record as lost, and counts as failed.
    const outcome = execution?.last.outcome === 'lost' ? 'failed' : execution?.last.outcome
    if (outcome !== LETTERS[state])
      say('I19', `${name} is ${state}, and its execution ${executionId} ${outcome}`)
    if (execution !== undefined && role === 'i') checkTurn(picture, run, nodeIndex, execution)
  })
  const inside = [...states].filter((_, nodeIndex) => roles[nodeIndex] !== 'o').join('')
  const expected = /[ft]/.test(inside) ? 'FAILED' : inside.includes('c') ? 'CANCELLED' : 'SUCCEEDED'
  if (status !== (run.cancelMessage === null ? expected : 'CANCELLED'))
    say('I19', `run ${runId} is ${status}: ${inside}`)
}

function checkTurn(
  { say, executions }: Picture,
  run: GraphRunRow,
  nodeIndex: number,
  execution: Recorded,
): void {
  const { executionId, attempts, last, calls } = execution
  const parents = run.edges.filter(([, child]) => child === nodeIndex)
  const isMet = ([parent, , rule]: GraphRunRow['edges'][number]) => RULES[rule]!.includes(run.states[parent]!)
  if (last.skipReason === 'dependency') {
    if (parents.every(isMet))
      say('I19', `${executionId} was skipped, and all it runs after had ended as it must`)
    if (calls.length > 0) say('I19', `${executionId} was skipped and called`)
  }
  if (attempts.length === 0) return
  const begunAt = calls[0]?.at ?? attempts[0]!.recordedAt
  for (const edge of parents) {
    const [parent, , rule] = edge
    if (!isMet(edge))
      say('I19', `${executionId} ran on ${rule} of nodeIndex ${parent}, which was ${run.states[parent]}`)
    const before = executions.get(run.executionIds[parent] ?? '')
    if (run.roles[parent] !== 'o' && before !== undefined && before.last.recordedAt > begunAt + clockMs)
      say(
        'I19',
        `${executionId} ran at ${at(begunAt)}, before ${before.executionId} had ended at ${at(before.last.recordedAt)}`,
      )
  }
}
