// Assigns the executions of many triggers of a job to batches. Each has its position in a batch from the beginning,
// also when they turn out to be rows of their own: an id tells nothing else.
import { batchExecutionsMax, executionIdAt } from './execution.ts'

/** Of the payloads in one batch: it is claimed and written as one row. */
const batchBytesMax = 64 * 1024
/** Maximum triggers of a job that have not ended: all of them can be listed, cancelled and deleted with it. */
export const triggersWaitingMax = 100_000

/**
 * Most executions of a deleted job that end in one transaction, in batches and alone each. The delete ends the first ones
 * and puts the others out of reach of workers; the release loop ends the others step by step.
 */
export const endedWithJobMax = 2_000

export interface TriggerBatch {
  batchId: string
  count: number
  /** As JSON, one for each, in place of the job's own; null: the job's own. */
  payloads: readonly string[] | null
}

/** `payloads`: as JSON; null: `count` executions with the job's own. */
export function toTriggerBatches(
  { count, payloads }: { count: number; payloads: readonly string[] | null },
  nextBatchId: () => string,
): TriggerBatch[] {
  const batches: TriggerBatch[] = []
  for (let from = 0; from < count; ) {
    const size = payloads === null ? Math.min(batchExecutionsMax, count - from) : sizeFrom(payloads, from)
    const own = payloads === null ? null : payloads.slice(from, from + size)
    batches.push({ batchId: nextBatchId(), count: size, payloads: own })
    from += size
  }
  return batches
}

/** How many of them from there on are one batch: at least one. */
function sizeFrom(payloads: readonly string[], from: number): number {
  let bytes = 0
  let size = 0
  while (size < batchExecutionsMax && from + size < payloads.length) {
    bytes += Buffer.byteLength(payloads[from + size]!)
    if (bytes > batchBytesMax && size > 0) break
    size += 1
  }
  return size
}

/** In the order in which they were asked for. */
export function listTriggers(
  batches: readonly TriggerBatch[],
): { executionId: string; payload: string | null }[] {
  return batches.flatMap(({ batchId, count, payloads }) =>
    Array.from({ length: count }, (_, position) => {
      return { executionId: executionIdAt(batchId, position), payload: payloads?.[position] ?? null }
    }),
  )
}
