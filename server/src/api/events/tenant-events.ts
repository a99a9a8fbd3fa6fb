// The activity of a single tenant, as the events that all its readers get: polled once, however many read. The latest
// events are kept, so that a reader that returns soon misses nothing.
import type { EventData, EventName } from '@carillon/contract/event.ts'
import { toRfc3339, toRfc3339OrNull } from '../../lib/time/epoch.ts'
import type { FeedExecution, FeedLook, FeedMark } from '../../ports/feed.ts'
import { feedItemsMax } from '../../ports/feed.ts'
import type { StorePorts } from '../../ports/store.ts'
import type { World } from '../../ports/world.ts'
import { toScheduledTime } from '../executions/execution-view.ts'
import { formatEvent } from './event-stream.ts'

export interface TenantEventsDeps extends Pick<World, 'clock'>, Pick<StorePorts, 'feed'> {}

/** How long ago a reader may have stopped reading. After a longer absence it loads again. */
export const resumeMsMax = 60_000
/** Five a second are much. */
const keptMax = 300
const runsMax = 100

export interface KeptEvent {
  number: number
  name: EventName
  text: string
  atMs: number
}

export class TenantEvents {
  readonly #deps: TenantEventsDeps
  readonly tenantId: string
  /** Tells our event numbers from the numbers of another process, or of another time. */
  readonly id: string
  #last = 0
  #kept: KeptEvent[] = []
  #place: FeedMark | null = null
  #lookedMs = 0
  /** The last published mark of each execution, operation and run, by id; null: nothing was published yet. */
  #said: {
    executions: Map<string, string>
    operations: Map<string, string>
    runs: Map<string, string>
  } | null = null
  #running: string[] = []
  #openRuns: string[] = []

  constructor(deps: TenantEventsDeps, tenantId: string, id: string) {
    this.#deps = deps
    this.tenantId = tenantId
    this.id = id
  }

  /** Of the latest event. */
  get last(): number {
    return this.#last
  }

  /** Events behind that one; null: too much was missed. */
  behind(number: number): KeptEvent[] | null {
    const oldest = this.#kept[0]?.number ?? this.#last + 1
    if (number > this.#last || number < oldest - 1) return null
    return this.#kept.filter((event) => event.number > number)
  }

  /** Polls once, and returns the new events. */
  async look(): Promise<KeptEvent[]> {
    const { clock, feed } = this.#deps
    const before = this.#last
    const startedMs = clock.monotonicMs()
    const isLost = this.#place !== null && startedMs - this.#lookedMs > resumeMsMax
    if (this.#place === null || isLost) {
      this.#place = await feed.begin()
      this.#said = null
      this.#lookedMs = startedMs
      if (isLost) {
        this.#kept = []
        this.#add('reset', {})
      }
      return this.behind(before) ?? this.#kept
    }
    const query = { tenantId: this.tenantId, running: this.#running, runs: this.#openRuns }
    const look = await feed.look({ ...query, since: this.#place })
    this.#place = look.mark
    this.#lookedMs = startedMs
    this.#addEvents(look)
    return this.#kept.filter(({ number }) => number > before)
  }

  #addEvents(look: FeedLook): void {
    const { executions, dropped } = this.#changedExecutions(look)
    if (executions.length > 0) this.#add('executions', { items: executions.map(toItem), dropped })
    if (look.jobs.length > 0) {
      const items = look.jobs.map(({ jobId, ...rest }) => ({ job_id: jobId, ...rest }))
      this.#add('jobs', { items })
    }
    const operations = look.operations.map(({ operationId, ...rest }) => ({
      operation_id: operationId,
      ...rest,
    }))
    const runs = look.graphRuns.map(({ runId, status, counts }) => ({
      graph_run_id: runId,
      status,
      states: { ...counts },
    }))
    const said = {
      executions: new Map(look.underWay.map((one) => [one.executionId, markOf(one)])),
      operations: new Map(operations.map((one) => [one.operation_id, JSON.stringify(one)])),
      runs: new Map(runs.map((one) => [one.graph_run_id, JSON.stringify(one)])),
    }
    const former = this.#said
    if (former !== null) {
      const changed = operations.filter(
        (one) => former.operations.get(one.operation_id) !== said.operations.get(one.operation_id),
      )
      if (changed.length > 0) this.#add('operations', { items: changed })
      const moved = runs.filter(
        (one) => former.runs.get(one.graph_run_id) !== said.runs.get(one.graph_run_id),
      )
      if (moved.length > 0) this.#add('graph_runs', { items: moved })
    }
    this.#said = said
    this.#running = look.underWay.filter(({ status }) => status === 'RUNNING').map((one) => one.executionId)
    this.#openRuns = runs
      .filter(({ status }) => status === 'RUNNING' || status === 'CANCELLING')
      .map((one) => one.graph_run_id)
      .slice(0, runsMax)
    const { started, succeeded, failed, timedOut, running, waiting } = look
    const lag = Math.max(0, Math.round(this.#deps.clock.databaseNow() - look.at))
    const counts = { started, succeeded, failed, timed_out: timedOut, running, waiting }
    this.#add('pulse', { as_of: toRfc3339(look.at), lag_ms: lag, ...counts })
  }

  /** Recorded executions, and executions under way that changed since they were last published; the latest last. */
  #changedExecutions({ recorded, dropped, underWay }: FeedLook) {
    const former = this.#said?.executions
    const told = new Set(recorded.map(markedIdOf))
    const changed =
      former === undefined
        ? []
        : underWay
            .filter((one) => former.get(one.executionId) !== markOf(one) && !told.has(markedIdOf(one)))
            .toReversed()
    const all = [...changed, ...recorded]
    const executions = all.slice(-feedItemsMax)
    return { executions, dropped: dropped + all.length - executions.length }
  }

  #add<Name extends EventName>(name: Name, data: EventData[Name]): void {
    const atMs = this.#deps.clock.monotonicMs()
    const oldest = this.#kept.findIndex((event) => event.atMs > atMs - resumeMsMax)
    if (oldest !== 0) this.#kept.splice(0, oldest < 0 ? this.#kept.length : oldest)
    if (this.#kept.length >= keptMax) this.#kept.shift()
    this.#last += 1
    this.#kept.push({ number: this.#last, name, text: formatEvent(name, JSON.stringify(data)), atMs })
  }
}

function markOf({ status, attempt }: FeedExecution): string {
  return `${status} ${attempt}`
}

function markedIdOf(one: FeedExecution): string {
  return `${one.executionId} ${markOf(one)}`
}

function toItem(one: FeedExecution): EventData['executions']['items'][number] {
  return {
    execution_id: one.executionId,
    job_id: one.jobId,
    job_name: one.jobName,
    status: one.status,
    attempt_number: one.attempt,
    scheduled_time: toScheduledTime(one.slot),
    started_at: toRfc3339OrNull(one.startedAt),
    finished_at: toRfc3339OrNull(one.finishedAt),
    duration_ms: one.durationMs,
    error_type: one.errorType,
  }
}
