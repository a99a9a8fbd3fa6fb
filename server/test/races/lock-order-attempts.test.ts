// Reports on attempts of several batches, and on single ones, take locks in the same order as everything else: the
// worker, batches before `live`, by id.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { defaultTenantId as tenantId } from '../../src/domain/tenants/tenant.ts'
import type { AttemptMark } from '../../src/ports/attempts.ts'
import { noteBatched, reportBatched } from '../../src/postgres/queue/attempts.sql.ts'
import { cancelBatchedById } from '../../src/postgres/queue/cancel.sql.ts'
import { lockSilentWorker, reclaimLive } from '../../src/postgres/queue/reclaim.sql.ts'
import { allTaken } from '../conformance/queue/held.ts'
import { POSTGRES_VERSIONS } from '../database.ts'
import { assertWhole } from './invariants.ts'
import { hold, holdDelete } from './patient-race.ts'
import { createPatientRace, type Race, type Session } from './sessions.ts'

/** All that a worker holds, the later ones first. */
async function holdMarks(given: Race) {
  const held = await hold(given)
  const { workerId, batches, live } = held
  const batched = batches.map(({ batchId, jobIds, fence }): AttemptMark => {
    return { executionId: batchId, jobId: jobIds[0]!, attempt: 1, fence, workerId }
  })
  const alone = live.map(({ executionId, jobId, attempt, fence }): AttemptMark => {
    return { executionId, jobId, attempt, fence, workerId }
  })
  const marks = [...batched, ...alone].toSorted((a, b) => (a.executionId < b.executionId ? 1 : -1))
  return { ...held, marks }
}

const reportAll = ({ attempts }: Session, { s }: Race, marks: readonly AttemptMark[]) =>
  attempts.report(marks.map((mark) => ({ ...mark, ending: s.succeeded() })))

const noteAll = async ({ attempts }: Session, marks: readonly AttemptMark[]) =>
  (await attempts.update(marks.map((mark) => ({ ...mark, alive: true, progress: 0.5 })))).map(
    ({ status }) => status,
  )

const cancelMany = ({ control }: Session, executionIds: readonly string[]) =>
  control
    .cancelMany({ tenantId, executionIds, message: 'no' })
    .then(({ cancelled, cancelling }) => ({ cancelled: cancelled.length, cancelling }))

for (const version of POSTGRES_VERSIONS) {
  const race = (title: string, body: (given: Race, t: TestContext) => Promise<void>) =>
    test(`PostgreSQL ${version}: ${title}`, async (t) => {
      const given = await createPatientRace(t, version)
      await body(given, t)
      await assertWhole(given.client)
    })

  race('report×cancelMany of the same batches: neither waits for ever', async (given, t) => {
    const { second, waiting } = given
    const { marks, batches, ids } = await holdMarks(given)
    const held = await holdDelete(t, given, batches[1]!.batchId)
    const reporting = reportAll(held.session, given, marks)
    await held.reached()
    const cancelling = cancelMany(second, ids)
    await waiting(2)
    await held.resume()
    assert.deepEqual(await reporting, allTaken)
    assert.deepEqual(await cancelling, { cancelled: 0, cancelling: 0 })
  })

  race('cancelMany×report: neither waits for ever for what the other has', async (given) => {
    const { first, second, waiting } = given
    const { marks, ids } = await holdMarks(given)
    const held = first.holdAfter(cancelBatchedById)
    const cancelling = cancelMany(first, ids)
    await held.reached
    const reporting = reportAll(second, given, marks)
    await waiting()
    held.resume()
    assert.deepEqual(await cancelling, { cancelled: 0, cancelling: 4 })
    assert.deepEqual((await reporting).cancelled.toSorted(), ids.toSorted())
  })

  race('report×reclaim: neither waits for ever for what the other has', async (given) => {
    const { first, second, waiting } = given
    const { workerId, marks } = await holdMarks(given)
    const held = first.holdAfter(reportBatched)
    const reporting = reportAll(first, given, marks)
    await held.reached
    const reclaiming = second.maintenance.reclaim({ holderId: workerId, beats: 0 })
    await waiting()
    held.resume()
    assert.notEqual(await reclaiming, 'alive')
    assert.deepEqual(await reporting, allTaken)
  })

  race('note×reclaim: neither waits for ever for what the other has', async (given) => {
    const { first, second, waiting } = given
    const { workerId, marks } = await holdMarks(given)
    const held = first.holdAfter(noteBatched)
    const noting = noteAll(first, marks)
    await held.reached
    const reclaiming = second.maintenance.reclaim({ holderId: workerId, beats: 0 })
    await waiting()
    held.resume()
    assert.deepEqual(await noting, new Array(4).fill('updated'))
    assert.notEqual(await reclaiming, 'alive')
  })

  for (const statement of [lockSilentWorker, reclaimLive]) {
    race(`reclaim×note after ${statement.name}: neither waits for ever`, async (given) => {
      const { first, second, waiting } = given
      const { workerId, marks } = await holdMarks(given)
      const held = first.holdAfter(statement)
      const reclaiming = first.maintenance.reclaim({ holderId: workerId, beats: 0 })
      await held.reached
      const noting = noteAll(second, marks)
      await waiting()
      held.resume()
      assert.notEqual(await reclaiming, 'alive')
      assert.deepEqual(await noting, new Array(4).fill('gone'))
    })
  }

  race('report×note: neither waits for ever for what the other has', async (given, t) => {
    const { second, waiting } = given
    const { marks, batches } = await holdMarks(given)
    const held = await holdDelete(t, given, batches[1]!.batchId)
    const reporting = reportAll(held.session, given, marks)
    await held.reached()
    const noting = noteAll(second, marks.toReversed())
    await waiting(2)
    await held.resume()
    assert.deepEqual(await reporting, allTaken)
    assert.deepEqual(await noting, new Array(4).fill('gone'))
  })
}
