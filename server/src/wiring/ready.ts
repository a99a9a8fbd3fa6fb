// Whether this process can do its work now, as /readyz answers: the database, then the state of each of its roles.
import type { Role } from '../domain/role.ts'
import { uncertaintyMsMax } from '../domain/scheduling/partition-share.ts'
import { withDeadline } from '../lib/time/deadline.ts'
import type { World } from '../ports/world.ts'
import type { RunningRoles } from './roles.ts'

export interface ReadyDeps {
  roles: readonly Role[]
  world: Pick<World, 'clock' | 'timers'>
  running: Pick<RunningRoles, 'isStopping' | 'check'>
  /** Rejects when the database does not answer. */
  askDatabase: () => Promise<unknown>
}

const readyMsMax = 2_000

/** Each dependency by name: 'ok', or why not. */
export async function checkReady(deps: ReadyDeps): Promise<Record<string, string>> {
  const { world, roles, running, askDatabase } = deps
  if (running.isStopping()) return { server: 'stopping' }
  const answered = askDatabase().then(
    () => 'ok',
    (error: Error) => error.message,
  )
  const state = await withDeadline(world.timers, readyMsMax, answered)
  const database = state === 'late' ? `no answer within ${readyMsMax} ms` : state
  return { database, ...(roles.includes('scheduler') && { clock: checkClock(world) }), ...running.check() }
}

function checkClock({ clock }: ReadyDeps['world']): string {
  const uncertaintyMs = clock.uncertaintyMs()
  return uncertaintyMs <= uncertaintyMsMax ? 'ok' : `may be off by ${describeMs(uncertaintyMs)}`
}

function describeMs(ms: number): string {
  return Number.isFinite(ms) ? `${Math.ceil(ms)} ms` : 'an unknown amount: not measured recently'
}
