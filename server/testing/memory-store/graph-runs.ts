// Runs of graphs in memory, as the API reads, stops and repeats them.
import { sharedLane } from '../../src/domain/queue/lane.ts'
import type {
  CancelRunOutcome,
  Graph,
  GraphRuns,
  ParentResult,
  ResumeOutcome,
  RunPage,
  RunQuery,
  RunTools,
  RunView,
} from '../../src/ports/graph-runs.ts'
import { pageItemsBytesMax } from '../../src/ports/pages.ts'
import { boundedPage } from './bounded-page.ts'
import { resumeRun } from './resume-run.ts'
import type { GraphRunRow, RunNoteRow } from './rows.ts'
import { advanceRun, cancelRun, nothingStepped } from './run-steps.ts'
import { parentResultsOf, summaryOfRun, viewOfRun } from './run-view.ts'
import { compareText } from './sorted-set.ts'
import { edgesOf, memberOf, membersOf } from './start-run.ts'
import type { MemoryStore } from './store.ts'

export class MemoryGraphRuns implements GraphRuns {
  readonly #store: MemoryStore

  constructor(store: MemoryStore) {
    this.#store = store
  }

  async graphOf(tenantId: string, jobId: string): Promise<Graph | null> {
    const job = this.#store.findJob(tenantId, jobId)
    if (job === null) return null
    const members = membersOf(this.#store, job)
    return { jobs: members.map(memberOf), edges: edgesOf(members) }
  }

  async get(tenantId: string, runId: string): Promise<RunView | null> {
    const run = this.#find(tenantId, runId)
    return run === null ? null : viewOfRun(this.#store, run)
  }

  async isStarting(tenantId: string, runId: string): Promise<boolean> {
    return this.#findStarts(tenantId, runId).length > 0
  }

  async list(query: RunQuery): Promise<RunPage> {
    const { tenantId, status, jobId, from, to, before, limit, bytesMax = pageItemsBytesMax } = query
    const isWanted = (run: GraphRunRow) =>
      run.tenantId === tenantId &&
      (status === null || run.status === status) &&
      (jobId === null || run.graph.plan.nodes.some((node) => node.jobId === jobId)) &&
      (from === null || run.slot >= from) &&
      (to === null || run.slot < to) &&
      (before === null || run.runId < before)
    const found = [...this.#store.graphRuns.values()]
      .filter(isWanted)
      .toSorted((a, b) => compareText(b.runId, a.runId))
    const summaries = found.slice(0, limit + 1).map((run) => summaryOfRun(this.#store, run))
    const bounds = { limit, bytesMax, payloads: false }
    const { page, more } = boundedPage(summaries, bounds, (lean) => ({ lean, payload: null }))
    const runs = page.map(({ payload: _payload, ...run }) => run)
    return { runs, next: more ? (runs.at(-1)?.runId ?? null) : null }
  }

  async cancel({ tenantId, runId, message }: Parameters<GraphRuns['cancel']>[0]): Promise<CancelRunOutcome> {
    const run = this.#find(tenantId, runId)
    if (run === null) return this.#noteCancel({ tenantId, runId, message })
    const { status } = run
    if (status === 'CANCELLED') return { kind: 'cancelled_before' }
    if (status === 'CANCELLING') return { kind: 'cancelling', settled: [] }
    if (status === 'SUCCEEDED' || status === 'FAILED') return { kind: 'finished', status }
    const stepped = nothingStepped()
    cancelRun(this.#store, run, message, stepped)
    // Nothing of a cancelled run goes: no lane is asked for.
    advanceRun(this.#store, run, { laneOf: () => sharedLane, isNew: false }, stepped)
    return { kind: stepped.over.length > 0 ? 'cancelled' : 'cancelling', settled: stepped.settled }
  }

  async resume(order: { tenantId: string; runId: string } & RunTools): Promise<ResumeOutcome> {
    const isDeleted = this.#store.deletedTenants.has(order.tenantId)
    const run = isDeleted ? null : this.#find(order.tenantId, order.runId)
    return run === null ? { kind: 'not_found' } : resumeRun(this.#store, run, order)
  }

  async parentsOf(executionIds: readonly string[], runId?: string): Promise<Map<string, ParentResult[]>> {
    const found = new Map<string, ParentResult[]>()
    for (const executionId of executionIds) {
      const run = this.#store.graphRuns.get(runId ?? this.#store.live.get(executionId)?.runId ?? '')
      const parents = run === undefined ? [] : parentResultsOf(this.#store, run, executionId)
      if (parents.length > 0) found.set(executionId, parents)
    }
    return found
  }

  /** Of a run that nobody has made yet, for each of its roots: a root that is no node of it is cancelled with the run that it gets. */
  #noteCancel({ tenantId, runId, message }: Parameters<GraphRuns['cancel']>[0]): CancelRunOutcome {
    const roots = this.#findStarts(tenantId, runId)
    for (const root of roots)
      this.#store.addRunNote({ ...root, what: 'cancel', at: this.#store.now(), message })
    return roots.length > 0 ? { kind: 'cancelling', settled: [] } : { kind: 'not_found' }
  }

  /** Of a run that nobody has made yet. */
  #findStarts(tenantId: string, runId: string): RunNoteRow[] {
    const notes = this.#store.graphRuns.has(runId) ? [] : (this.#store.runNotes.get(runId) ?? [])
    return notes.filter(({ what, jobId }) => what === 'root' && this.#store.findJob(tenantId, jobId) !== null)
  }

  #find(tenantId: string, runId: string): GraphRunRow | null {
    const run = this.#store.graphRuns.get(runId)
    return run?.tenantId === tenantId ? run : null
  }
}
