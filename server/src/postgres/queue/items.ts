// The lists that the statements of the queue take as JSON: which key is which column. The lists of endings are in
// `sql/ending.ts`.
import { defineItem } from '../sql/item.ts'

/** An attempt with the outcome that was reported of it. */
export const recordedItem = defineItem({
  executionId: ['e', 'uuid'],
  attempt: ['n', 'int'],
  jobId: ['j', 'uuid'],
  workerId: ['u', 'uuid'],
  outcome: ['o', 'text'],
})

/** The update of a running attempt, behind its mark. */
export const updateItem = defineItem({
  alive: ['alive', 'boolean'],
  startedMs: ['s', 'float8'],
  progress: ['progress', 'float8'],
  progressText: ['said', 'text'],
  checkpoint: ['checkpoint', 'text'],
})

/** A job, and the message of the cancel of its executions. */
export const cancelItem = defineItem({ jobId: ['j', 'uuid'], message: ['m', 'text'] })

/** A job whose runs are cancelled because a newer slot supersedes them. */
export const supersededItem = defineItem({
  jobId: ['j', 'uuid'],
  tenantId: ['t', 'uuid'],
  message: ['m', 'text'],
})

/** `slotMs`, `payload` and `idempotencyKey` are copied from the repeated execution. */
export const repeatItem = defineItem({
  executionId: ['e', 'uuid'],
  jobId: ['j', 'uuid'],
  lane: ['l', 'text'],
  slotMs: ['s', 'float8'],
  payload: ['p', 'text'],
  idempotencyKey: ['k', 'text'],
  retryOf: ['o', 'uuid'],
})

/** The executions of a lane that a worker may claim. */
export const laneItem = defineItem({ lane: ['l', 'text'], count: ['n', 'int'] })

/** A host, and the number of its waiting executions that a worker may claim. */
export const hostItem = defineItem({ host: ['h', 'text'], count: ['n', 'int'] })

export const definitionItem = defineItem({ jobId: ['j', 'uuid'], version: ['v', 'int'] })

/** A batch with the endings of its positions, `size` of them. */
export const finishedBatchItem = defineItem({
  batchId: ['b', 'uuid'],
  fence: ['f', 'int'],
  size: ['n', 'int'],
  endings: ['r', 'json'],
})

export const attemptItem = defineItem({
  executionId: ['e', 'uuid'],
  attempt: ['n', 'int'],
  jobId: ['j', 'uuid'],
})

/** A concurrency key of a tenant. */
export const keyItem = defineItem({ tenantId: ['t', 'uuid'], key: ['k', 'text'] })

/** A late slot that was owed and runs now; `runId`: of the graph run that it starts. */
export const owedSlotItem = defineItem({
  jobId: ['j', 'uuid'],
  version: ['v', 'int'],
  slotMs: ['s', 'float8'],
  executionId: ['e', 'uuid'],
  lane: ['l', 'text'],
  priority: ['p', 'int'],
  state: ['st', 'text'],
  runId: ['ru', 'uuid'],
})

/** A range of slots that do not run. */
export const skipItem = defineItem({
  jobId: ['j', 'uuid'],
  fromSlotMs: ['f', 'float8'],
  toSlotMs: ['t', 'float8'],
  count: ['c', 'int'],
  reason: ['r', 'text'],
  version: ['v', 'int'],
})

/** The late slots that a job still owes; without `fromMs`: none. */
export const owedItem = defineItem({
  jobId: ['j', 'uuid'],
  fromSlotMs: ['f', 'float8'],
  nextMs: ['n', 'float8'],
})

/** The next slot of a job that awaited an end, or the execution that it awaits now. */
export const nextSlotItem = defineItem({
  jobId: ['j', 'uuid'],
  slotMs: ['s', 'float8'],
  dueMs: ['d', 'float8'],
  executionId: ['e', 'uuid'],
})

/** The budget of a tenant as it is after a draw. */
export const budgetItem = defineItem({ tenantId: 'uuid', spent: 'float8', countedMs: 'float8' })

/** Executions of a tenant that may go. */
export const grantItem = defineItem({ tenantId: 'uuid', granted: 'int' })
