// The lists that the statements on graph runs take as JSON: which key is which column.
import { defineItem } from '../sql/item.ts'

/** A job, and the graph that it is in. */
export const memberItem = defineItem({ jobId: 'uuid', graphId: 'uuid' })

export const newRunItem = defineItem({
  runId: 'uuid',
  tenantId: 'uuid',
  kind: 'text',
  slotMs: 'float8',
  jobIds: 'uuid[]',
  roles: 'text',
  states: 'text',
  versions: 'int[]',
  executionIds: 'uuid[]',
  edges: 'json',
})

/** A node with a row from the start of its run. */
export const newNodeItem = defineItem({ runId: 'uuid', jobId: 'uuid', version: 'int', executionId: 'uuid' })

/** A root that has not fired. */
export const unfiredItem = defineItem({ runId: 'uuid', jobId: 'uuid', slotMs: 'float8' })

/** `isFree`: nothing is in its way, as is known under the lock. */
export const nodeToGoItem = defineItem({
  number: 'int',
  executionId: 'uuid',
  lane: 'text',
  isFree: 'boolean',
})

export const skippedNodeItem = defineItem({ executionId: 'uuid', reason: 'text', message: 'text' })

/** The executions of the nodes of a run, and their versions. */
export const planItem = defineItem({ runId: 'uuid', versions: 'int[]', executionIds: 'uuid[]' })

/** A root that fired into a run of which it is no node. */
export const strayItem = defineItem({ jobId: 'uuid', runId: 'uuid', executionId: 'uuid', stays: 'boolean' })

/** A run after a step. */
export const runItem = defineItem({
  runId: 'uuid',
  status: 'text',
  cancelMessage: 'text',
  states: 'text',
  unfired: 'boolean',
  isOver: 'boolean',
})

export const nodeItem = defineItem({ nodeIndex: 'int', jobId: 'uuid', executionId: 'uuid' })

/** An execution with parents; `runId` null: the run of its row. */
export const childItem = defineItem({ executionId: 'uuid', runId: 'uuid' })

export const jobExecutionItem = defineItem({ jobId: 'uuid', executionId: 'uuid' })

/** A node that runs again in a resumed run; the last three are copied from the execution that it repeats. */
export const repeatedNodeItem = defineItem({
  executionId: 'uuid',
  jobId: 'uuid',
  version: 'int',
  kind: 'text',
  retryOf: 'uuid',
  payload: 'text',
  idempotencyKey: 'text',
})
