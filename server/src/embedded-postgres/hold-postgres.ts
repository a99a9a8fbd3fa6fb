// Holding the PostgreSQL of a data directory: running, on our leash, and locked as ours. Covers every way to get there
// from the remains of a crash, a reboot or another start.
import { readFile, stat } from 'node:fs/promises'
import { OperatingError, StopRequested } from '../lib/operating-error.ts'
import { sql } from '../lib/sql.ts'
import type { SystemUser } from '../lib/system-users.ts'
import { withDeadline } from '../lib/time/deadline.ts'
import type { Clock } from '../ports/clock.ts'
import type { Timers } from '../ports/timers.ts'
import { postgresReady, postgresWaited } from '../telemetry/events.ts'
import { writeAuthentication } from './authentication.ts'
import type { Binaries } from './binaries.ts'
import { handOver } from './hand-over.ts'
import { adoptOnLeash, isAlive, type Leash } from './leash.ts'
import { connectOwner, findOwner, type Owner, type OwnerLock, takeOwnership } from './owner-lock.ts'
import { findPostmaster, isOnLeash, removeStaleLocks, startPostgres, stopPostgres } from './postmaster.ts'
import { prepareProgram } from './program-role.ts'

export interface EmbeddedDeps {
  clock: Pick<Clock, 'monotonicMs'>
  timers: Timers
}

export interface Place {
  dataDir: string
  pgDir: string
  socketDir: string
  logFile: string
  user: SystemUser | null
  binaries: Binaries
  settings: Readonly<Record<string, string>>
}

export interface Held {
  leash: Leash
  lock: OwnerLock
}

/** Crash recovery of a large database takes its time. */
const readyMsMax = 300_000
const reportEveryMs = 5_000
/** How long the remains of a killed PostgreSQL may keep a new one from starting. */
const passingMsMax = 15_000
/** How long a PostgreSQL must have no owner before we take it over: its starter locks within milliseconds. */
const ownerlessMs = 1_000
/** How long somebody else must have been its owner before we give up. */
const ownedMs = 300

export const embeddedDatabase = 'carillon'

const reloadSettings = sql('reloadSettings')`SELECT pg_reload_conf()`

export class AlreadyRunning extends OperatingError {
  readonly owner: Owner
  constructor(owner: Owner, dataDir: string) {
    const where = owner.url === '' ? '' : ` at ${owner.url}`
    super(
      `Carillon already runs on ${dataDir}: process ${owner.pid}${where}. ` +
        'Stop it first, or set CARILLON_DATA and CARILLON_PORT to run a second one.',
    )
    this.owner = owner
  }
}

/**
 * Until we hold the lock on a running PostgreSQL: start it if none runs, wait while one comes up or goes down,
 * take over one that nobody owns, give up if somebody else owns it.
 */
export async function holdPostgres(
  deps: EmbeddedDeps,
  place: Place,
  previous: Leash | null,
  signal?: AbortSignal,
): Promise<Held> {
  const beganMs = deps.clock.monotonicMs()
  let own: Started | null = null
  let unownedSinceMs: number | null = null
  let ownedSinceMs: number | null = null
  let reportedMs = 0

  try {
    while (true) {
      const elapsedMs = deps.clock.monotonicMs() - beganMs
      if (signal?.aborted) throw new StopRequested()
      if (elapsedMs > readyMsMax) {
        throw new OperatingError(`PostgreSQL accepts no connections. ${await quoteLog(place, own)}`)
      }
      const unownedMs = unownedSinceMs === null ? 0 : elapsedMs - unownedSinceMs
      const found = await look(place, [own?.leash ?? null, previous], unownedMs)

      if (found.kind === 'ours' && found.leash === null && !(await hasItsUser(place))) {
        // Left by an earlier version. Its data changes hands while nothing runs.
        await closeLock(deps, found.lock)
        await stopPostgres(place.pgDir, deps.timers, passingMsMax)
        continue
      }
      if (found.kind === 'ours') {
        if (found.leash === null) await renewAuthentication(place, found.lock)
        await prepareDatabase(deps, place, found.lock)
        const how = found.leash === null ? 'adopted' : 'started'
        postgresReady.emit({ how, version: found.lock.version, postgresPid: found.pid, tookMs: elapsedMs })
        return { lock: found.lock, leash: found.leash ?? adoptOnLeash(found.pid, place.user) }
      }
      // One that was killed a moment ago may still be on its way out.
      ownedSinceMs = found.kind === 'owned' ? (ownedSinceMs ?? elapsedMs) : null
      if (found.kind === 'owned' && elapsedMs - ownedSinceMs! >= ownedMs)
        throw new AlreadyRunning(found.owner, place.dataDir)
      if (found.kind === 'none' && (own === null || own.ended)) {
        if (own !== null) await refuseUnlessPassing(place, own, elapsedMs)
        own = await start(place)
      }
      unownedSinceMs = found.kind === 'unowned' ? (unownedSinceMs ?? elapsedMs) : null

      if (elapsedMs - reportedMs > reportEveryMs) {
        reportedMs = elapsedMs
        postgresWaited.emit({ waitedMs: elapsedMs, logFile: place.logFile })
      }
      await deps.timers.wait(20)
    }
  } catch (error) {
    // The PostgreSQL we started stops with us; one on another leash is not affected.
    own?.leash.release()
    await own?.leash.ended
    throw error
  }
}

async function hasItsUser({ pgDir, user }: Place): Promise<boolean> {
  return user === null || (await stat(pgDir)).uid === user.uid
}

/** Of a PostgreSQL that another start of ours has left. */
async function renewAuthentication({ pgDir, user }: Place, { client }: OwnerLock): Promise<void> {
  await writeAuthentication(pgDir, user)
  await client.query(reloadSettings.text)
}

async function prepareDatabase(deps: EmbeddedDeps, { socketDir }: Place, lock: OwnerLock): Promise<void> {
  try {
    await prepareProgram(lock, socketDir, embeddedDatabase)
  } catch (cause) {
    await closeLock(deps, lock)
    throw new OperatingError(`PostgreSQL cannot make its database: ${(cause as Error).message}`, { cause })
  }
}

/** A session with a hung backend does not answer a good-bye. */
export async function closeLock(deps: EmbeddedDeps, { client }: OwnerLock): Promise<void> {
  const closed = client.end().catch(() => {})
  if ((await withDeadline(deps.timers, 500, closed)) === 'late') client.connection.stream.destroy()
}

type Found =
  | { kind: 'none' }
  | { kind: 'busy' } // it comes up or goes down, or the session of its dead owner is about to end
  | { kind: 'unowned' }
  | { kind: 'owned'; owner: Owner }
  | { kind: 'ours'; pid: number; lock: OwnerLock; leash: Leash | null }

async function look(place: Place, leashes: readonly (Leash | null)[], unownedMs: number): Promise<Found> {
  const pid = await findPostmaster(place.pgDir)
  if (pid === null) return { kind: 'none' }
  const lock = await connectOwner(place.socketDir)
  if (lock === null) return { kind: 'busy' }
  try {
    const leash = await findLeash(pid, leashes)
    // One we did not start is ours only after its starter had every chance to lock it.
    const mayLock = leash !== null || unownedMs >= ownerlessMs
    if (mayLock && (await takeOwnership(lock))) return { kind: 'ours', pid, lock, leash }
    const owner = await findOwner(lock)
    await lock.client.end()
    if (owner === null) return { kind: 'unowned' }
    return isAlive(owner.pid) && owner.pid !== process.pid ? { kind: 'owned', owner } : { kind: 'busy' }
  } catch {
    await lock.client.end().catch(() => {})
    return { kind: 'busy' } // it went down between two statements
  }
}

async function findLeash(pid: number, leashes: readonly (Leash | null)[]): Promise<Leash | null> {
  for (const leash of leashes) if (leash !== null && (await isOnLeash(pid, leash))) return leash
  return null
}

interface Started {
  leash: Leash
  ended: boolean
  /** Where in the log this start begins. */
  logOffset: number
}

async function start(place: Place): Promise<Started> {
  await removeStaleLocks(place.pgDir)
  if (place.user !== null) await handOver(place.pgDir, place.user)
  await writeAuthentication(place.pgDir, place.user)
  const { leash, logOffset } = await startPostgres(place)
  const started: Started = { leash, ended: false, logOffset }
  leash.ended.finally(() => {
    started.ended = true
  })
  return started
}

// Errors of a start when the previous PostgreSQL was killed a moment ago, or another start came between.
const passing = /lock file .* already exists|pre-existing shared memory block/

async function refuseUnlessPassing(place: Place, failed: Started, elapsedMs: number): Promise<void> {
  const quote = await quoteLog(place, failed)
  if (elapsedMs > passingMsMax || !passing.test(quote))
    throw new OperatingError(`PostgreSQL did not start. ${quote}`)
}

async function quoteLog(place: Place, started: Started | null): Promise<string> {
  const log = await readFile(place.logFile).catch(() => Buffer.alloc(0))
  const lines = log
    .subarray(started?.logOffset ?? 0)
    .toString()
    .trimEnd()
    .split('\n')
  return `The end of its log, ${place.logFile}:\n${lines.slice(-10).join('\n')}`
}
