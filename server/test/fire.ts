// Fires slots of a job that the API made, as a scheduler would, for tests of the edge.
import { runIdOfSlot } from '../src/domain/graphs/graph-run.ts'
import { hasOwnRows } from '../src/domain/jobs/job.ts'
import { sharedLane } from '../src/domain/queue/lane.ts'
import { routeOf } from '../src/domain/queue/route.ts'
import { dueAtOf } from '../src/domain/schedule/jitter.ts'
import { type EpochMs, epochMs } from '../src/lib/time/epoch.ts'
import type { FireAnswer, SlotToFire } from '../src/ports/slots.ts'
import type { setupApp } from './app.ts'

type App = Pick<Awaited<ReturnType<typeof setupApp>>, 'memory' | 'world'>

/** An instant as it is written on the wire. */
export const at = (text: string): EpochMs => epochMs(Date.parse(text))

/** Fires one slot, by its time on the wire, and returns its execution and the answer. */
export async function fireSlot(
  { memory, world }: App,
  jobId: string,
  time: string,
  changes: Partial<SlotToFire> = {},
): Promise<{ executionId: string; answer: FireAnswer['answer'] | 'fired' }> {
  const row = memory.store.jobs.get(jobId)!
  const job = row.versions.get(row.version)!
  const slot = at(time)
  const item: SlotToFire = {
    jobId,
    version: row.version,
    slot,
    dueAt: dueAtOf(job, slot),
    executionId: world.ids.nextBatch(),
    route: routeOf(job),
    lane: sharedLane,
    priority: job.priority,
    overlapPolicy: job.overlapPolicy,
    limited: false,
    ownRow: hasOwnRows(job),
    late: false,
    owedTo: null,
    owedPaceMs: 0,
    recordedAt: null,
    previousSlot: null,
    skipped: [],
    skip: null,
    runs: null,
    calendars: null,
    graphId: row.cursor.depends ? null : row.cursor.graphId,
    runId: row.cursor.graphId === null ? null : runIdOfSlot(row.cursor.graphId, slot),
    move: null,
    ...changes,
  }
  const [answer] = await memory.slots.fire([item])
  return { executionId: item.executionId, answer: answer?.answer ?? 'fired' }
}
