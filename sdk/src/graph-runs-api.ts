// client.graphRuns: jobs that ran after each other, as one.
import type {
  GraphRun,
  GraphRunCancelReply,
  GraphRunList,
  GraphRunListQuery,
  GraphRunResumeReply,
} from '#contract/graph-run.ts'
import type { Call, CallOptions, PostOptions } from './call.ts'
import { createList, type List } from './list.ts'

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

const root = '/api/v1/graph-runs'

export function createGraphRunsApi(call: Call): GraphRunsApi {
  const pathOf = (graphRunId: string) => `${root}/${encodeURIComponent(graphRunId)}`
  return {
    get: (id, options) => call({ path: pathOf(id), repeat: 'same' }, options),
    list: (query, options) =>
      createList(
        (cursor) =>
          call<GraphRunList>(
            { path: root, query: { ...query, ...(cursor !== undefined && { cursor }) }, repeat: 'same' },
            options,
          ),
        (page) => page.graph_runs,
      ),
    cancel: (id, options) => call({ method: 'POST', path: `${pathOf(id)}/cancel`, repeat: 'keyed' }, options),
    resume: (id, options) => call({ method: 'POST', path: `${pathOf(id)}/resume`, repeat: 'keyed' }, options),
  }
}
