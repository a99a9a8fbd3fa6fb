// Decides the effect of a new, changed or deleted job on the jobs around it, while the graphs of the tenant are locked.
import assert from 'node:assert/strict'
import type { JobStatus, JobVersion } from '../jobs/job.ts'
import type { JobState, JobWrite } from '../jobs/job-change.ts'
import {
  type Dependency,
  type GraphPart,
  type GraphRefusal,
  isGraphRefusal,
  planDependencies,
  planRemoval,
} from './graph.ts'

export interface GraphWrite {
  jobId: string
  /** All that the job depends on from now on. */
  dependsOn: readonly Dependency[]
  /** The graphs of the job and of the jobs that change theirs with it; null: none. */
  graphIds: ReadonlyMap<string, string | null>
}

/** Whether the write changes the dependencies between jobs. */
export function changesGraph(state: JobState, { version, status }: JobWrite): boolean {
  if (status === 'DELETED') return state.graphId !== null
  return version !== null && JSON.stringify(version.dependsOn) !== JSON.stringify(state.dependsOn)
}

export interface GraphChange {
  state: JobState
  /** It changes a graph. */
  write: JobWrite
  /** The possible new dependencies of the job: the part has their graphs and its own. */
  dependsOn: readonly Dependency[] | undefined
}

export function planGraphChange(
  part: GraphPart,
  { state: { jobId, graphId }, write: { status, version }, dependsOn: foreseen }: GraphChange,
): GraphWrite | GraphRefusal {
  const isGone = status === 'DELETED'
  const known = new Set(foreseen?.map((one) => one.jobId))
  const dependsOn = isGone ? [] : version!.dependsOn
  assert(isGone || foreseen !== undefined, 'the dependencies are not part of this change')
  assert(
    dependsOn.every((one) => known.has(one.jobId)),
    'the new dependencies were read in advance',
  )
  const plan = isGone ? planRemoval(part, jobId) : planDependencies(part, { jobId, dependsOn })
  if (isGraphRefusal(plan)) return plan
  return { jobId, dependsOn, graphIds: new Map([[jobId, graphId], ...plan.graphIds]) }
}

/** The part has the graphs of all that the new job is to depend on. */
export function planGraphCreate(
  part: GraphPart,
  job: JobVersion & { status: JobStatus },
): GraphWrite | GraphRefusal {
  const { jobId, name, status, dependsOn } = job
  const jobs = [...part.jobs, { jobId, name, status, graphId: null }]
  const plan = planDependencies({ ...part, jobs }, { jobId, dependsOn })
  return isGraphRefusal(plan) ? plan : { jobId, dependsOn, graphIds: plan.graphIds }
}
