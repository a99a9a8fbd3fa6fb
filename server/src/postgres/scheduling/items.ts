// The lists that the statements of the scheduler take as JSON: which key is which column. The keys of a fire are short:
// 1,000 slots are one JSON text, and parsing it takes a third of the fire.
import { defineItem } from '../sql/item.ts'

/** A partition, and the cursor behind which to load it. */
export const cursorItem = defineItem({ partitionId: 'smallint', afterDueMs: 'float8', afterJobId: 'uuid' })

/** A slot to fire. */
export const slotItem = defineItem({
  jobId: ['j', 'uuid'],
  version: ['v', 'int'],
  slotMs: ['s', 'float8'],
  /** Absent: due at its slot. */
  dueMs: ['d', 'float8'],
  executionId: ['e', 'uuid'],
  position: ['o', 'int'],
  route: ['r', 'text'],
  lane: ['l', 'text'],
  priority: ['p', 'int'],
  allowsOverlap: ['al', 'boolean'],
  limited: ['li', 'boolean'],
  /** A waiting execution is found by its job, while a position in a batch is found by the latest slot only. */
  ownRow: ['ro', 'boolean'],
  /** It waits for the budget of its tenant, and is skipped at an instant; absent: never. */
  heldBack: ['hb', 'boolean'],
  skipMs: ['hs', 'float8'],
  /** How many slots of the job may wait behind others; absent: none. */
  waitingMax: ['bm', 'int'],
  /** How many slots of the job come before it in the same fire. */
  slotsBefore: ['nt', 'int'],
  late: ['la', 'boolean'],
  plannedMs: ['na', 'float8'],
  owedToMs: ['ow', 'float8'],
  owedPaceMs: ['op', 'int'],
  /** How many slots may join a catch-up of the job; absent: this one does not. */
  joinedMax: ['jm', 'int'],
  previousSlotMs: ['ps', 'float8'],
  skipReason: ['si', 'text'],
  /** Ranges: `skipItem`. */
  skipped: ['sk', 'json'],
  runsMax: ['rm', 'int'],
  runCount: ['rc', 'int'],
  calendarNames: ['cn', 'text[]'],
  calendarRevision: ['cr', 'int'],
  graphId: ['g', 'uuid'],
  /** The graph run that it starts. */
  runId: ['ru', 'uuid'],
  /** Whether the cursor moves, and to where. */
  moves: ['mv', 'boolean'],
  nextSlotMs: ['ms', 'float8'],
  nextDueMs: ['md', 'float8'],
  decidedToMs: ['mz', 'float8'],
  awaits: ['aw', 'boolean'],
  planFromMs: ['pf', 'float8'],
  planToMs: ['pt', 'float8'],
})

/** A range of slots that were skipped for one reason. */
export const skipItem = defineItem({
  fromMs: ['f', 'float8'],
  toMs: ['t', 'float8'],
  slotCount: ['c', 'int'],
  reason: ['r', 'text'],
})
