// Why does a job of a graph not run? Its dependencies, the ones still open, and the run in its way: the sentences for
// them, and the facts they are made from. Pure.
import type { EpochMs } from '../../lib/time/epoch.ts'
import type { Dependency, DependencyRule, Edge, NamedJob } from '../graphs/graph.ts'
import type { ExecutionStatus } from '../queue/execution.ts'
import { atText, lowerFirst, shorten } from './why-text.ts'

/** Of a job that depends on others. */
export interface GraphFacts {
  parents: readonly { name: string; on: DependencyRule }[]
  /** The names of the jobs that start the runs it is in. */
  roots: readonly string[]
  /** Its latest execution, if that was skipped or failed in a run. */
  last: LastTurn | null
}

/** The fate of a job in a run that did not go well for it. */
export interface LastTurn {
  executionId: string
  slot: EpochMs
  status: 'SKIPPED' | 'FAILED' | 'TIMED_OUT'
  /** Why, as is on record. */
  message: string
  again: RunAgain | null
}

/** A run that can be resumed, and would run the job again; not ended: once it has. */
export interface RunAgain {
  runId: string
  isEnded: boolean
}

/** Of an execution that waits for others of its run. */
export interface OpenRun {
  runId: string
  /** Its dependencies that have not ended. */
  open: readonly { name: string; status: ExecutionStatus }[]
}

const namesMax = 3

export function graphFactsOf(
  { jobs, edges }: { jobs: readonly NamedJob[]; edges: readonly Edge[] },
  { jobId, dependsOn }: { jobId: string; dependsOn: readonly Dependency[] },
  last: LastTurn | null,
): GraphFacts {
  const names = new Map(jobs.map((job) => [job.jobId, job.name]))
  const nameOf = (id: string) => names.get(id) ?? id
  const parents = Map.groupBy(edges, ({ childId }) => childId)
  const above = new Set([jobId])
  // Grows while it is walked.
  for (const at of above) for (const { parentId } of parents.get(at) ?? []) above.add(parentId)
  const roots = [...above].filter((id) => id !== jobId && !parents.has(id))
  return {
    parents: dependsOn.map(({ jobId: id, on }) => ({ name: nameOf(id), on })),
    roots: roots.map(nameOf),
    last,
  }
}

/** It runs after others, and nothing of it is under way. */
export function dependentText({ parents, roots, last }: GraphFacts): string {
  const after = listText(parents, ({ name, on }) => `${quoted(name)} (on ${on})`)
  const start = listText(roots, quoted, 'or')
  const them = parents.length === 1 ? 'it' : 'them'
  const how = `trigger ${start} to run it after ${them}, or the job itself to run it alone`
  return `It does not fire by itself: it runs after ${after}; ${how}${last === null ? '' : lastText(last)}.`
}

function lastText({ executionId, slot, status, message, again }: LastTurn): string {
  const became =
    status === 'SKIPPED'
      ? `was skipped, because ${skipText(message)}`
      : `${status === 'FAILED' ? 'failed' : 'timed out'}: ${shorten(message).replace(/\.$/, '')}`
  return `; its last turn, in the graph run of ${atText(slot)}, ${became} (execution ${executionId})${againText(again)}`
}

/** How to go on, at the end of a sentence. */
export function againText(again: RunAgain | null): string {
  if (again === null) return ''
  const how = `POST /api/v1/graph-runs/${again.runId}/resume runs it again`
  return again.isEnded ? `; ${how}` : `; once that run has ended, ${how}`
}

/** `waits for …` */
export function openText({ runId, open }: OpenRun): string {
  if (open.length === 0) return `is about to be released (graph run ${runId})`
  const others = listText(open, ({ name, status }) => `${quoted(name)} (${status})`)
  return `waits for ${others} in the graph run ${runId}`
}

/** The recorded reason of a skipped execution, worded to fit within a sentence. */
export function skipText(message: string): string {
  return lowerFirst(shorten(message).replace(/\.$/, ''))
}

/** No execution has the scheduled time that is asked about. */
export function noTurnText(at: EpochMs, { parents }: GraphFacts): string {
  const after = listText(parents, ({ name }) => quoted(name))
  return `No execution of the job has the scheduled time ${atText(at)}: it does not fire by itself, and runs after ${after}.`
}

function quoted(name: string): string {
  return `"${shorten(name)}"`
}

function listText<T>(all: readonly T[], say: (one: T) => string, last: 'and' | 'or' = 'and'): string {
  const said = all.slice(0, namesMax).map(say)
  if (all.length > namesMax) said.push(`${all.length - namesMax} more`)
  return said.length < 2 ? said.join('') : `${said.slice(0, -1).join(', ')} ${last} ${said.at(-1)}`
}
