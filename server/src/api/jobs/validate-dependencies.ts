// The dependencies of a job as a request gives them, and warnings about effects on its graph that it may not have intended.
import { isDeepStrictEqual } from 'node:util'
import type { JobRequest } from '@carillon/contract/job.ts'
import type { Dependency } from '../../domain/graphs/graph.ts'
import type { MemberJob } from '../../domain/graphs/graph-run.ts'
import { hasSchedule, type JobVersion } from '../../domain/jobs/job.ts'
import { haveSameSlots } from '../../domain/jobs/same-slots.ts'
import { isAfterCompletion } from '../../domain/schedule/after-completion.ts'
import type { Graph, GraphRuns } from '../../ports/graph-runs.ts'
import { refuseField } from '../http/problem.ts'
import { Refusals } from '../http/refusals.ts'

/** As they are stored. Each job once: two rules about one would have to be told apart. */
export function dependenciesOf(given: JobRequest['depends_on'] | null): Dependency[] {
  const places = new Map<string, number>()
  const refusals = new Refusals()
  const dependencies = (given ?? []).map(({ job_id, on = 'success' }, place) => {
    const jobId = job_id.toLowerCase()
    const earlier = places.get(jobId)
    if (earlier === undefined) places.set(jobId, place)
    else {
      const detail = `is named at /depends_on/${earlier} already`
      refusals.add(refuseField(`/depends_on/${place}/job_id`, detail))
    }
    return { jobId, on }
  })
  refusals.throwAny()
  return dependencies
}

const unfiredText =
  'The schedule is kept and does not fire while the job has dependencies: it runs after them.'

/** Of a job as it is after a write. */
export async function warnOfGraph(
  graphRuns: Pick<GraphRuns, 'graphOf'>,
  job: Pick<JobVersion, 'tenantId' | 'jobId' | 'schedule' | 'dependsOn'>,
): Promise<string[]> {
  const warnings = job.dependsOn.length > 0 && hasSchedule(job) ? [unfiredText] : []
  const graph = await graphRuns.graphOf(job.tenantId, job.jobId)
  const apart = graph === null ? null : findApart(graph)
  if (apart !== null) {
    warnings.push(apartText(apart))
  }
  return warnings
}

function apartText(apart: [MemberJob, MemberJob]): string {
  const [one, other] = apart.map(({ name, jobId }) => `${name} (${jobId})`)
  const starts = `The graph of the job starts at ${one} and at ${other}, which`
  const then = 'each starts runs of its own, in which the other counts by its latest execution.'
  if (!lookTheSame(apart)) return `${starts} have different schedules: ${then}`
  return `${starts} have the same interval, counted from when each job was made: ${then} Give both the same start_at, and they share their runs.`
}

/** With a start_at they would be the same. */
function lookTheSame([{ schedule: one }, { schedule: other }]: [MemberJob, MemberJob]): boolean {
  return one.type === 'INTERVAL' && !isAfterCompletion(one) && isDeepStrictEqual(one, other)
}

/** Two jobs at which runs of the graph start, and not at the same times. One that has no slot left starts none. */
function findApart(graph: Graph): [MemberJob, MemberJob] | null {
  const [first, ...rest] = rootsOf(graph).filter(({ status }) => status !== 'COMPLETED')
  const other = first === undefined ? undefined : rest.find((root) => !haveSameSlots(first, root))
  return other === undefined ? null : [first!, other]
}

/** The jobs without dependencies; with `above` only the ones that lead to this job. */
export function rootsOf({ jobs, edges }: Graph, above?: string): MemberJob[] {
  const parents = Map.groupBy(edges, ({ childId }) => childId)
  const leading = new Set(above === undefined ? jobs.map(({ jobId }) => jobId) : [above])
  // Grows while it is walked.
  for (const at of leading) for (const { parentId } of parents.get(at) ?? []) leading.add(parentId)
  return jobs.filter(({ jobId }) => leading.has(jobId) && !parents.has(jobId))
}
