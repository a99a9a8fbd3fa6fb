// The connection breaks between a commit and its reply, for each kind of write: a caller that repeats the write finds
// its effect once. Every statement that writes is covered, here or by the tests named below.
import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import test from 'node:test'
import { checkoutDir } from '../../src/config/read.ts'
import type { Sql } from '../../src/lib/sql.ts'
import { Unavailable } from '../../src/lib/unavailable.ts'
import { assertWhole } from '../races/invariants.ts'
import { createRace, type Session } from '../races/sessions.ts'
import { isWrite, openUnheard, type Unheard } from './unheard.ts'
import { orders } from './unheard-orders.ts'
import { works } from './unheard-works.ts'

/** Statements that are not run here, and why a lost reply is harmless or is tested elsewhere. */
const elsewhere: Record<string, readonly string[]> = {
  'deletes what is old or over: whoever repeats finds nothing': [
    'deleteOldKeys',
    'deleteOldRuns',
    'dropHealth',
    'forgetRevokedKeys',
    'pruneFailureGroups',
    'pruneFormerWorkers',
    'pruneJobActivity',
    'pruneLateSlots',
    'pruneLogDays',
    'pruneLogs',
    'pruneOperations',
    'pruneStats',
    'pruneTenantActivity',
    'skipExpired',
  ],
  'takes a part of a limit before it is used: a lost reply forfeits that part, and lets no more through': [
    'beginBudgets',
    'writeBudgets',
    'letHeldGo',
    'beginStorage',
    'drawStorage',
  ],
  'counts anew what is stored: conformance/access/tenant-room.ts': ['beginStorageCount', 'endStorageCount'],
  'a step of the end of a tenant, with its progress in one transaction: races/tenant-ends.test.ts': [
    'advanceTenantOperation',
    'advanceTenantWork',
    'cancelTenantOperations',
    'delayTenantWork',
    'deleteTenantWork',
    'insertTenantOperation',
    'markDeleted',
    'markPurged',
    'markPurging',
    'markRestored',
    'purgeActiveJobs',
    'purgeApiKeys',
    'purgeArtifacts',
    'purgeAttempts',
    'purgeBudget',
    'purgeCalendars',
    'purgeCatchups',
    'purgeChanges',
    'purgeCursors',
    'purgeDeadLetters',
    'purgeEdges',
    'purgeFailureGroups',
    'purgeFormerWorkers',
    'purgeIdempotencyKeys',
    'purgeJobActivity',
    'purgeJobDays',
    'purgeJobHealth',
    'purgeJobs',
    'purgeLateSlots',
    'purgeLogDays',
    'purgeLogs',
    'purgeOperations',
    'purgeRootsOfJobs',
    'purgeRunNotes',
    'purgeRunRoots',
    'purgeRuns',
    'purgeSessionCodes',
    'purgeSessions',
    'purgeSkips',
    'purgeSlots',
    'purgeStorageUsage',
    'purgeTenantActivity',
    'purgeVersionNotes',
    'purgeVersions',
    'purgeWorkers',
  ],
  'sets what it is given, or what is noted for people: again changes nothing': [
    'noteKeyUse',
    'updateKey',
    'revokeKey',
    'updateTenant',
    'upsertCalendar',
    'noteCalendar',
    'deleteCalendar',
    'upsertArtifact',
    'deleteArtifact',
    'rotateSigningKey',
    'editDeadLetter',
    'discardDeadLetter',
    'stopRedrives',
    'settleOlderVersions',
    'insertTier',
    'updateTier',
  ],
  'counts in the transaction of the change that it counts, or counts anew: conformance/jobs/active-jobs.ts, conformance/history/logs.ts':
    ['addActiveJobs', 'addLogBytes', 'beginActiveJobs', 'recountActiveJobs'],
  'registers under a new id: the worker whose registration was not heard of never beats, and expires': [
    'insertTenantWorker',
  ],
  'drops what nothing names, and moves on behind it: again finds nothing': [
    'endVersionNote',
    'moveVersionNote',
    'pruneVersions',
  ],
  'says that a process is alive or gone, for liveness only: again changes nothing': [
    'beatHistory',
    'deleteHistory',
    'deleteApiProcess',
    'reportRequests',
  ],
  'creates under an idempotency key, as jobs are: races/once.test.ts': ['insertKey', 'insertTenant'],
  'part of a transaction that is carried out here with others of its statements': [
    'dropNotes',
    'moveRoots',
    'noteSuperseded',
  ],
  'folds one day after the other in one transaction with its mark: postgres/history/rollups.test.ts': [
    'foldStats',
  ],
  'folds what was recorded in one transaction with its mark: postgres/history/job-health.test.ts': [
    'foldHealth',
  ],
  'folds what was recorded in one transaction with its mark: postgres/history/rollups.test.ts': [
    'foldDays',
    'foldJobs',
    'foldSkips',
    'foldTenants',
    'foldTroubles',
    'moveFeed',
  ],
  'a way in: who got no answer logs in once more, or asks for another link, and what was made in vain ends by itself':
    ['deleteOldestCodes', 'deleteSession', 'endOldestSessions', 'insertCode', 'insertSession', 'useCode'],
  'the demo world: who was cut short clears what there is of it and begins anew': [
    'ageJobs',
    'clearPast',
    'insertCopiedDay',
    'insertCopies',
    'insertPastAttempts',
    'insertPastLetters',
    'insertPastRuns',
    'insertPastSlots',
  ],
}

const committed = new Set<string>()

for (const [name, work] of Object.entries({ ...works, ...orders })) {
  test(`the answer to a commit is lost: ${name}`, async (t) => {
    const race = await createRace(t)
    const unheard = openUnheard(t, race.address, committed)
    const twice = async <T>(act: (stores: Unheard | Session) => Promise<T>): Promise<T> => {
      await assert.rejects(act(unheard), Unavailable)
      return act(race.first)
    }
    await work(race, twice)
    await assertWhole(race.client)
  })
}

test('every statement that writes was committed unheard, or is named', async () => {
  const dir = join(checkoutDir, 'server/src/postgres')
  const written: string[] = []
  for (const file of (await readdir(dir, { recursive: true })).filter((one) => one.endsWith('.sql.ts'))) {
    const statements = Object.values(await import(join(dir, file))) as Partial<Sql>[]
    for (const one of statements) if (one?.text !== undefined && isWrite(one as Sql)) written.push(one.name!)
  }
  const named = Object.values(elsewhere).flat()
  const known = new Set([...committed, ...named])
  assert.deepEqual(written.filter((one) => !known.has(one)).toSorted(), [], 'neither carried out nor named')
  assert.deepEqual(
    named.filter((one) => committed.has(one) || !written.includes(one)),
    [],
    'named without need',
  )
})
