// One execution that a reader watches: itself when it has changed, and the lines of its log as they come, from the first on.
import type { Executions, ExecutionView } from '../../ports/executions.ts'
import type { GraphRuns } from '../../ports/graph-runs.ts'
import type { LogEntry, Logs } from '../../ports/logs.ts'
import { toExecution } from '../executions/execution-view.ts'
import { toLogLine } from '../executions/log-lines.ts'
import { formatEvent } from './event-stream.ts'

export interface WatchDeps {
  executions: Pick<Executions, 'getExecution'>
  graphRuns: Pick<GraphRuns, 'parentsOf'>
  logs: Pick<Logs, 'read'>
}

export type LogPlace = Pick<LogEntry, 'attempt' | 'line'>

const linesMax = 1_000
const unended = ['WAITING_DEPENDENCIES', 'PENDING', 'RUNNING', 'RETRYING', 'CANCELLING']

export class WatchedExecution {
  readonly #deps: WatchDeps
  readonly #tenantId: string
  readonly executionId: string
  /** Null: no line was told yet. */
  after: LogPlace | null
  #said = ''
  #done = false

  constructor(deps: WatchDeps, tenantId: string, executionId: string, after: LogPlace | null) {
    this.#deps = deps
    this.#tenantId = tenantId
    this.executionId = executionId
    this.after = after
  }

  /** Nothing more will come. */
  get done(): boolean {
    return this.#done
  }

  /** Polls the execution once, and returns its news as events. */
  async look(): Promise<string[]> {
    const { executions, logs } = this.#deps
    // First the execution, then its lines: an execution that has ended by then has all of them written.
    const execution = await executions.getExecution(this.#tenantId, this.executionId)
    if (execution === null) {
      this.#done = true
      return []
    }
    const of = { tenantId: this.#tenantId, executionId: this.executionId, attempt: null }
    const { lines, more } = await logs.read({ ...of, after: this.after, limit: linesMax })
    const said = JSON.stringify(await this.#shape(execution))
    const events = said === this.#said ? [] : [formatEvent('execution', said)]
    this.#said = said
    if (lines.length > 0) {
      events.push(formatEvent('log', JSON.stringify({ lines: lines.map(toLogLine) })))
      const { attempt, line } = lines.at(-1)!
      this.after = { attempt, line }
    }
    this.#done = !more && !unended.includes(execution.status)
    return events
  }

  async #shape(execution: ExecutionView) {
    if (execution.runId === null) return toExecution(execution, [])
    const parents = await this.#deps.graphRuns.parentsOf([execution.executionId], execution.runId)
    return toExecution(execution, parents.get(execution.executionId) ?? [])
  }
}
