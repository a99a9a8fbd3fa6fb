// A value as one line of text that is the same for equal values, whichever store they come from.
import type { JobPage } from '../../src/ports/jobs.ts'
import type { Claimed } from '../../src/ports/queue.ts'

export function lineOf(value: unknown): string {
  return JSON.stringify(plainOf(value)) ?? 'nothing'
}

/** Answers that are sets, or made of sets: their order is not promised, and nobody relies on it. */
const SETS: ReadonlySet<string> = new Set([
  'slots.load',
  'slots.takeChanges',
  'slots.fire',
  'slots.fireAndClaim',
  'queue.waiting',
  'peers.measure',
  'queue.claim',
  'queue.definitions',
  'queue.finishBatches',
  'queue.finishLive',
  'queue.findCancelled',
  'queue.findOwn',
  'attempts.find',
  'attempts.report',
  'attempts.update',
  'maintenance.findOverdue',
  // The attempts that were settled.
  'maintenance.reclaim',
  'maintenance.release',
  'operations.cancel',
  'jobs.change',
  'control.cancelMany',
  'graphRuns.cancel',
  'graphRuns.resume',
  'runSteps.step',
  'deadLetters.redrive',
  // The order of runs noted by the same statement is not promised.
  'runSteps.findNoted',
])
/** Drawn by each store for itself. */
const SECRETS: ReadonlySet<string> = new Set(['secrets.tokenKey', 'secrets.signingKeys'])

/** The answer of a method, `port.name`, as a line. */
export function answerLine(method: string, value: unknown): string {
  if (SECRETS.has(method)) return 'a secret'
  const comparable = comparableOf(method, value)
  return lineOf(SETS.has(method) ? sorted(comparable) : comparable)
}

function comparableOf(method: string, value: unknown): unknown {
  if (method === 'queue.claim') return withPresentPayloads(value as Claimed)
  return method === 'jobs.list' ? withoutHealth(value as JobPage) : value
}

/** PostgreSQL folds the health of jobs behind the clock; the memory store writes it at once. */
function withoutHealth({ jobs, ...rest }: JobPage): unknown {
  return { ...rest, jobs: jobs.map(({ health: _, ...job }) => job) }
}

/** Payloads are found by position; the ones of positions that have left may be there or not. */
function withPresentPayloads({ batches, ...rest }: Claimed): unknown {
  const present = batches.map(({ payloads, ...batch }) => ({
    ...batch,
    payloads: payloads === null ? null : batch.positions.map((position) => payloads[position]),
  }))
  return { ...rest, batches: present }
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(lineOf).toSorted()
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, sorted(part)]))
}

/** Leaves out absent and null values; keys in order, bytes in hex. */
function plainOf(value: unknown): unknown {
  if (typeof value === 'number') return Number.isInteger(value) ? value : roundOf(value)
  if (value === null || typeof value !== 'object') return value
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex')
  if (value instanceof Map) return plainOf([...value].toSorted(([a], [b]) => (a < b ? -1 : 1)))
  if (Array.isArray(value)) return value.map(plainOf)
  const entries = Object.entries(value).filter(([, part]) => part !== undefined && part !== null)
  const inOrder = entries.toSorted(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(inOrder.map(([name, part]) => [name, plainOf(part)]))
}

/** PostgreSQL keeps how far an attempt is in four bytes, and says it in as few digits as these need. */
function roundOf(value: number): number {
  return Number(Math.fround(value).toPrecision(6))
}
