// Edits, pauses and resumes at the very second at which slots come due, 1,000 of them, while two schedulers fire and two
// release: every slot is fired or skipped under the version in force, once.
import assert from 'node:assert/strict'
import test from 'node:test'
import { OVERLAP_POLICIES } from '@carillon/contract/constants.ts'
import { realTimers } from '../../src/lib/time/timers.ts'
import type { NewJob } from '../../src/ports/jobs.ts'
import {
  type Decision,
  edit,
  editSchedule,
  otherSchedule,
  pause,
  resume,
} from '../conformance/jobs/changes.ts'
import { assertWhole } from './invariants.ts'
import {
  assertLedger,
  type Begins,
  changeNoted,
  createEverySecondJob,
  createReleaser,
  createScheduler,
  drain,
  everySecond,
  runAll,
} from './ledger-world.ts'
import { createRace, rollDice } from './sessions.ts'

const changesMax = 1_000
const atOnce = 100

test('1,000 changes at the boundary of slots, while two schedulers fire: no slot is lost, none is there twice', async (t) => {
  const race = await createRace(t)
  const { s, client, first, second } = race
  const dice = rollDice(t)
  const begins: Begins = new Map()
  const jobs: NewJob[] = []
  for (let i = 0; i < 40; i++) {
    const overlapPolicy = dice.pick(OVERLAP_POLICIES)
    jobs.push(await createEverySecondJob(race, begins, { slotAt: s.at(600), overlapPolicy }))
  }
  const decisions: (() => Decision)[] = [
    () => pause(),
    () => resume(),
    () => resume(),
    () => editSchedule(dice.pick([everySecond, otherSchedule])),
    () => edit({ name: `job ${dice.below(1_000)}` }),
    () => edit({ overlapPolicy: dice.pick(OVERLAP_POLICIES) }),
  ]

  let made = 0
  const changeAtBoundaries = async () => {
    while (made < changesMax) {
      const toBoundaryMs = 1_000 - (Date.now() % 1_000)
      await realTimers.wait(Math.max(0, toBoundaryMs - dice.below(8)))
      const some = Array.from({ length: Math.min(atOnce, changesMax - made) }, () => ({
        session: dice.pick([first, second]),
        job: dice.pick(jobs),
        decide: dice.pick(decisions)(),
      }))
      await Promise.all(some.map(({ session, job, decide }) => changeNoted(session, begins, job, decide)))
      made += some.length
    }
  }
  const errors: unknown[] = []
  const untilDone = async (step: () => Promise<unknown>) => {
    while (made < changesMax && errors.length === 0) {
      await step().catch((error: unknown) => errors.push(error))
      await realTimers.wait(1)
    }
  }
  const steps = [first, second].flatMap((session) => {
    const releaser = createReleaser(session, s.ids)
    return [...Object.values(createScheduler(session, race)), () => releaser.step()]
  })
  await Promise.all([changeAtBoundaries(), ...[...steps, () => runAll(s)].map(untilDone)])
  assert.deepEqual(errors, [])
  await assertWhole(client)
  // Jobs that still fire are stopped: every slot up to now is decided then.
  for (const job of jobs) await changeNoted(first, begins, job, pause())
  await drain(race)
  await assertWhole(client)
  for (const job of jobs) await assertLedger(race, begins, job)
})
