// client.graphRuns: jobs that ran after each other, as one.
import type {
  GraphRun,
  GraphRunCancelReply,
  GraphRunList,
  GraphRunListQuery,
  GraphRunResumeReply,
} from '#contract/graph-run.ts'
import type { Call, CallOptions, PostOptions } from './call.ts'
import type { List } from './list.ts'
import { resource } from './resource.ts'

export interface GraphRunsApi {
  /** The run with all its nodes. */
  get(graphRunId: string, options?: CallOptions): Promise<GraphRun>
  /** Newest first. */
  list(
    query?: GraphRunListQuery,
    options?: CallOptions,
  ): List<GraphRunList['graph_runs'][number], GraphRunList>
  /** Nothing of it starts any more; running executions are stopped. */
  cancel(graphRunId: string, options?: PostOptions): Promise<GraphRunCancelReply>
  /** Runs the nodes that did not succeed again, and the ones that waited for them. Only when the run has ended. */
  resume(graphRunId: string, options?: PostOptions): Promise<GraphRunResumeReply>
}

export function createGraphRunsApi(call: Call): GraphRunsApi {
  const { get, list, post, pathOf } = resource(call, '/api/v1/graph-runs')
  return {
    get,
    list: (query, options) => list((page: GraphRunList) => page.graph_runs, query, options),
    cancel: (id, options) => post(pathOf(id, 'cancel'), undefined, options),
    resume: (id, options) => post(pathOf(id, 'resume'), undefined, options),
  }
}
