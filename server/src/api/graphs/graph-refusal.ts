// Why a job cannot depend on others so, or not be deleted, as a problem document.
import type { Dependency, GraphRefusal, NamedJob } from '../../domain/graphs/graph.ts'
import { graphEdgesMax, graphNodesMax } from '../../domain/graphs/graph.ts'
import { ApiError } from '../http/api-error.ts'

/** Dependents named in an answer. */
const namedMax = 10

/** `given`: the jobs that the request names, in its order; none: it names none. */
export function refuseGraph(refusal: GraphRefusal, given: readonly Dependency[] = []): ApiError {
  const pointer = '/depends_on'
  if (refusal.kind === 'unknown_parent') {
    const place = given.findIndex(({ jobId }) => jobId === refusal.jobId)
    const entry = place === -1 ? pointer : `${pointer}/${place}/job_id`
    const detail = `There is no job ${refusal.jobId} that it could run after.`
    return new ApiError('DEPENDENCY_NOT_FOUND', detail, [
      { pointer: entry, detail: 'names a job that is not there' },
    ])
  }
  if (refusal.kind === 'cycle') {
    const detail = `Each of these would run after the one before it, for ever: ${refusal.path.map(nameOf).join(' → ')}.`
    return new ApiError('DEPENDENCY_CYCLE', detail, [{ pointer, detail: 'makes a cycle' }])
  }
  if (refusal.kind === 'too_large') {
    const detail = `The graph would have ${refusal.jobs} jobs; at most ${graphNodesMax} may depend on each other.`
    return new ApiError('GRAPH_TOO_LARGE', detail, [{ pointer, detail: 'makes the graph too large' }])
  }
  if (refusal.kind === 'too_many_edges') {
    const detail = `The graph would have ${refusal.edges} dependencies; it may have at most ${graphEdgesMax}.`
    return new ApiError('GRAPH_TOO_LARGE', detail, [{ pointer, detail: 'makes the graph too large' }])
  }
  const { jobs } = refusal
  const more = jobs.length > namedMax ? ` and ${jobs.length - namedMax} more` : ''
  const detail = `These jobs run after it: ${jobs.slice(0, namedMax).map(nameOf).join(', ')}${more}.`
  return new ApiError('JOB_HAS_DEPENDENTS', detail)
}

function nameOf({ jobId, name }: NamedJob): string {
  return `${name} (${jobId})`
}
