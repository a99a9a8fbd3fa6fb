// Sessions that lock the same batches in different orders.
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { ClaimedBatch } from '../../src/ports/queue.ts'
import { openSession, type Race } from './sessions.ts'

/** A worker that holds two batches, of which the later by id lies first in the table, and two single executions. */
export async function hold({ s }: Race) {
  const workerId = await s.addWorker()
  const batchIds = [s.ids.nextBatch(), s.ids.nextBatch()]
  const batches: ClaimedBatch[] = []
  for (const executionId of batchIds.toReversed()) {
    await s.fire(await s.createJob(), 0, { executionId })
    batches.unshift(await s.claimBatch(workerId))
  }
  const triggers = [await s.trigger(await s.createJob()), await s.trigger(await s.createJob())]
  const { live } = await s.claim(workerId)
  assert.equal(live.length, 2)
  return { workerId, ids: [...batchIds, ...triggers], batches, live }
}

/** A session that is held when it has locked this batch to delete it, before it comes to others. */
export async function holdDelete(t: TestContext, { client, address, waiting }: Race, batchId: string) {
  await client.query(`
    CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      IF current_setting('application_name') = 'carillon held' AND OLD.batch_id = '${batchId}' THEN
        PERFORM pg_advisory_xact_lock(77);
      END IF;
      RETURN OLD;
    END $$;
    CREATE TRIGGER hold BEFORE DELETE ON batches FOR EACH ROW EXECUTE FUNCTION hold()`)
  await client.query('SELECT pg_advisory_lock(77)')
  return {
    session: openSession(t, address, 'held'),
    reached: () => waiting(),
    resume: () => client.query('SELECT pg_advisory_unlock(77)'),
  }
}
