// Attempts in flight at workers and targets, for races between the reports on them.
import assert from 'node:assert/strict'
import test from 'node:test'
import { defaultTenantId as tenantId } from '../../src/domain/tenants/tenant.ts'
import type { AttemptEnding, AttemptMark, AttemptUpdate } from '../../src/ports/attempts.ts'
import type { NewJob } from '../../src/ports/jobs.ts'
import type { Ending, FinishAnswer } from '../../src/ports/queue.ts'
import { holdAwaiting, holdBatch, holdLive } from '../conformance/queue/held.ts'
import { POSTGRES_VERSIONS } from '../database.ts'
import { assertWhole } from './invariants.ts'
import { createRace, type Race, type Session } from './sessions.ts'

/** Where an attempt is while it is under way. */
export type Place = 'batch' | 'live' | 'awaiting'

export interface Attempt {
  executionId: string
  jobId: string
  /** The worker that claimed it. */
  workerId: string
  /** As its worker names it. */
  mark: AttemptMark
  /** The attempt as a holder of its token names it. */
  token: AttemptMark
  /** Its worker hands it back, and reports the rest of its batch as succeeded. */
  finish(session: Session, ending: Ending): Promise<FinishAnswer>
}

/** An attempt under way; one in a batch is there with another. */
export async function createAttempt(
  { s }: Race,
  place: Place,
  changes: Partial<NewJob> = {},
): Promise<Attempt> {
  if (place === 'batch') {
    const { executionIds, workerId, batch, marks } = await holdBatch(s, 2, changes)
    const mark = marks[0]!
    const finish = ({ queue }: Session, ending: Ending) => {
      const endings = [ending, s.succeeded()].map((one, position) => ({ position, ending: one }))
      return queue.finishBatches(workerId, [{ ...batch, endings }])
    }
    const { jobId } = mark
    return {
      executionId: executionIds[0]!,
      jobId,
      workerId,
      mark,
      token: { ...mark, workerId: null },
      finish,
    }
  }
  const held = place === 'live' ? await holdLive(s, changes) : await holdAwaiting(s, changes)
  const { executionId, workerId, mark, live } = held
  const finish = ({ queue }: Session, ending: Ending) => {
    assert(ending.kind !== 'running')
    return queue.finishLive(workerId, [{ ...live, ending }])
  }
  const { jobId } = mark
  return { executionId, jobId, workerId, mark, token: { ...mark, workerId: null }, finish }
}

export const report = ({ attempts }: Session, mark: AttemptMark, ending: AttemptEnding['ending']) =>
  attempts.report([{ ...mark, ending }])

export async function note(
  { attempts }: Session,
  mark: AttemptMark,
  said: Partial<AttemptUpdate> = {},
): Promise<string> {
  const [answer] = await attempts.update([{ ...mark, alive: true, ...said }])
  return answer!.status
}

export const cancel = async ({ control }: Session, executionId: string): Promise<string> =>
  (await control.cancel({ tenantId, executionId, message: 'not wanted' })).kind

/** The recorded attempts of an execution, in order. */
export async function recordsOf({ client }: Race, { executionId }: { executionId: string }) {
  const { rows } = await client.query<{ attempt: number; outcome: string; worker_id: string | null }>(
    'SELECT attempt, outcome, worker_id FROM attempts WHERE execution_id = $1 ORDER BY attempt, final',
    [executionId],
  )
  return rows.map(({ attempt, outcome, worker_id: workerId }) => ({ attempt, outcome, workerId }))
}

/** Each race ends with a database in which everything is where it belongs. */
export function testRace(title: string, body: (race: Race) => Promise<void>): void {
  for (const version of POSTGRES_VERSIONS) {
    test(`PostgreSQL ${version}: ${title}`, async (t) => {
      const race = await createRace(t, version)
      await body(race)
      await assertWhole(race.client)
    })
  }
}
