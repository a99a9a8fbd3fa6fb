// Common parts of the tests of writes with lost replies: how a write is repeated, and which rows are checked
// afterwards.
import { defaultTenantId as tenantId } from '../../src/domain/tenants/tenant.ts'
import type { NewJob } from '../../src/ports/jobs.ts'
import { placesOf } from '../races/invariants.ts'
import type { Race, Session } from '../races/sessions.ts'
import type { Unheard } from './unheard.ts'

/** Carries it out unheard, then again; returns the second answer. */
export type Twice = <T>(act: (stores: Unheard | Session) => Promise<T>) => Promise<T>
export type Work = (race: Race, twice: Twice) => Promise<void>

export const message = 'not wanted'
export const onceOf = (key: string) => ({ tenantId, key, fingerprint: new TextEncoder().encode(key) })
export const reply = { status: 201, headers: {}, body: '{}' }

export async function executionsOf({ client }: Race): Promise<number> {
  return Object.keys(await placesOf(client)).length
}

export async function outcomesOf({ client }: Race, executionId: string): Promise<string[]> {
  const { rows } = await client.query<{ outcome: string }>(
    'SELECT outcome FROM attempts WHERE execution_id = $1 ORDER BY attempt',
    [executionId],
  )
  return rows.map(({ outcome }) => outcome)
}

/** A worker that has claimed a batch with a single slot. */
export async function claimOne({ s }: Race, changes: Partial<NewJob> = {}) {
  const job = await s.createJob(changes)
  const executionId = await s.fire(job, 0)
  const workerId = await s.addWorker()
  return { job, executionId, workerId, batch: await s.claimBatch(workerId) }
}

/** A worker with an execution of its own row. */
export async function claimTriggered({ s }: Race) {
  const job = await s.createJob({ overlapPolicy: 'ALLOW' })
  const executionId = await s.trigger(job)
  const workerId = await s.addWorker()
  return { job, executionId, workerId, one: await s.claimLive(workerId) }
}
