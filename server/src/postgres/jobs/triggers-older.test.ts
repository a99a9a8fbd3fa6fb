// Triggers in a fleet of two versions: a program that knows only batches of slots would run them without their payloads.
import assert from 'node:assert/strict'
import test from 'node:test'
import { createScenario } from '../../../test/conformance/scenario.ts'
import { openPostgres } from '../../../test/conformance/stores.ts'
import { sharedLane } from '../../domain/queue/lane.ts'
import { toTriggerBatches } from '../../domain/queue/trigger-batches.ts'

const OLDER = [
  {
    who: 'a worker',
    insert: `INSERT INTO workers (worker_id, host, version, labels, executors, handlers, capacity)
      VALUES ($1, 'h', '0.1.0', '{}', '{}', '{}', 1)`,
  },
  { who: 'a scheduler', insert: `INSERT INTO schedulers (scheduler_id) VALUES ($1)` },
]

for (const { who, insert } of OLDER) {
  test(`${who} of an older version does not start while triggers wait in batches; while it is running, triggers are rows`, async (t) => {
    const { client, ...bundle } = await openPostgres(t, 18)
    const s = await createScenario(bundle)
    const job = await s.createJob({ overlapPolicy: 'ALLOW' })
    const workerId = await s.addWorker()
    const trigger = async () => {
      const batches = toTriggerBatches({ count: 2, payloads: ['"a"', '"b"'] }, () => s.ids.nextBatch())
      const { tenantId, jobId } = job
      const { kind } = await s.jobs.triggerMany({ tenantId, jobId, lane: sharedLane, batches })
      assert.equal(kind, 'triggered')
      return s.claim(workerId)
    }
    const { batches, live } = await trigger()
    assert.deepEqual([batches.length, live.length], [1, 0])
    const older = s.ids.next()
    await assert.rejects(client.query(insert, [older]), /triggers wait in batches that this version/)
    await s.finishBatch(workerId, batches[0]!, s.succeeded())
    await client.query(insert, [older])
    const rows = await trigger()
    assert.deepEqual(
      [rows.batches.length, rows.live.map(({ payloadOverride }) => payloadOverride)],
      [0, ['a', 'b']],
    )
  })
}
