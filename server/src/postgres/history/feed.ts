// The live view on PostgreSQL. A feed position is a snapshot: anything it does not show, the next poll reports.
import { countNodes } from '../../domain/graphs/run-counts.ts'
import { shownStatus } from '../../domain/jobs/job.ts'
import { type LiveState, type Outcome, statusOfLive, statusOfOutcome } from '../../domain/queue/execution.ts'
import type { EpochMs } from '../../lib/time/epoch.ts'
import {
  type Feed,
  type FeedExecution,
  type FeedJob,
  type FeedLook,
  type FeedMark,
  type FeedOperation,
  type FeedQuery,
  type FeedRun,
  feedItemsMax,
  feedOthersMax,
  lateMsMax,
  underWayRowsMax,
} from '../../ports/feed.ts'
import type { Queries } from '../connection/database.ts'
import { rolesOf, statesOf } from '../graphs/rows.ts'
import * as statements from './feed.sql.ts'

export class PostgresFeed implements Feed {
  readonly #database: Queries

  constructor(database: Queries) {
    this.#database = database
  }

  async begin(): Promise<FeedMark> {
    const since = await this.#start()
    const { rows } = await this.#database.query<{ snapshot: string; now: number }>(
      statements.selectSnapshot,
      [],
    )
    return writeMark(since, rows[0]!)
  }

  async look({ tenantId, since, running, runs }: FeedQuery): Promise<FeedLook> {
    const mark = readMark(since)
    const start = await this.#start()
    const { rows } = await this.#database.query<FeedRow>(statements.selectFeed, [
      tenantId,
      mark.snapshot,
      mark.since,
      running,
      runs,
      feedItemsMax,
      feedOthersMax,
      underWayRowsMax,
      mark.now,
    ])
    const row = rows[0]!
    const underWay = (row.under_way ?? []).map(toUnderWay)
    const known = new Set(running)
    // A running execution that was not known began since, unless it is only seen now among so many.
    const begun = underWay.filter(
      ({ executionId, startedAt }) =>
        startedAt !== null && startedAt >= mark.since && !known.has(executionId),
    )
    const recorded = (row.recorded ?? []).map(toRecorded)
    return {
      mark: writeMark(start, row),
      at: row.now,
      started: row.started + begun.length,
      succeeded: row.succeeded,
      failed: row.failed,
      timedOut: row.timed_out,
      recorded,
      dropped: row.total - recorded.length,
      underWay,
      running: row.running,
      waiting: row.waiting,
      jobs: (row.jobs ?? []).map(toJob),
      operations: row.operations ?? [],
      graphRuns: (row.graph_runs ?? []).map(toRun),
    }
  }

  async #start(): Promise<number> {
    const { rows } = await this.#database.query<{ since: number }>(statements.selectFeedStart, [lateMsMax])
    return rows[0]!.since
  }
}

/** `now`: the time after the snapshot. */
function writeMark(since: number, { snapshot, now }: { snapshot: string; now: number }): FeedMark {
  return `${since} ${now} ${snapshot}` as FeedMark
}

function readMark(mark: FeedMark): { since: number; now: number; snapshot: string } {
  const [since, now, snapshot] = mark.split(' ')
  return { since: Number(since), now: Number(now), snapshot: snapshot! }
}

interface FeedRow {
  snapshot: string
  now: EpochMs
  total: number
  started: number
  succeeded: number
  failed: number
  timed_out: number
  running: number
  waiting: number
  recorded: RecordedPart[] | null
  under_way: UnderWayPart[] | null
  jobs: (FeedJob & { isUnderWay: boolean })[] | null
  operations: FeedOperation[] | null
  graph_runs: (Pick<FeedRun, 'runId' | 'status'> & { roles: string; states: string })[] | null
}

type RecordedPart = Omit<FeedExecution, 'status'> & { final: boolean; outcome: Outcome }

type UnderWayPart = Pick<
  FeedExecution,
  'executionId' | 'jobId' | 'jobName' | 'attempt' | 'slot' | 'startedAt'
> & { state: LiveState; cancelled: boolean }

function toJob({ isUnderWay, ...job }: NonNullable<FeedRow['jobs']>[number]): FeedJob {
  return { ...job, status: shownStatus({ ...job, isUnderWay }) }
}

function toRecorded({ final, outcome, ...part }: RecordedPart): FeedExecution {
  return { ...part, status: final ? statusOfOutcome(outcome) : 'RETRYING' }
}

function toUnderWay({ state, cancelled, ...part }: UnderWayPart): FeedExecution {
  const runs = state === 'running' || state === 'awaiting'
  return {
    ...part,
    status: statusOfLive(state, part.attempt, cancelled),
    startedAt: runs ? part.startedAt : null,
    finishedAt: null,
    durationMs: null,
    errorType: null,
  }
}

function toRun({ runId, status, roles, states }: NonNullable<FeedRow['graph_runs']>[number]): FeedRun {
  return { runId, status, counts: countNodes(rolesOf(roles), statesOf(states)).counts }
}
