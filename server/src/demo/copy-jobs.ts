// A large world, for measuring: copies of a job by the thousand, and their history of the last thirty days. One in a
// hundred runs often and has most of the history, as it is in large installations.
import { partitionOf } from '../domain/jobs/job.ts'
import { StopRequested } from '../lib/operating-error.ts'
import type { EpochMs } from '../lib/time/epoch.ts'
import type { Database } from '../postgres/connection/database.ts'
import { copyPrefix, type JobCopy, writeCopiedDay, writeCopies } from '../postgres/history/demo-history.ts'
import { drawId, drawsOf } from './random.ts'

export interface DemoSize {
  /** In all. 1 to 1,000,000. */
  jobs: number
  /** In all, about. */
  attempts: number
}

interface CopyDeps {
  database: Database
  now: EpochMs
  say: (text: string) => void
  /** Somebody wants the server to stop. */
  signal: AbortSignal
}

interface Kind {
  prefix: string
  count: number
  /** Executions of each. */
  each: number
  stepSeconds: number
}

const minute = 60
const hour = 60 * minute
const day = 24 * hour
/** The intervals that cron can express. */
const steps = [1, 2, 5, 10, 15, 30]
  .map((n) => n * minute)
  .concat([1, 2, 3, 4, 6, 8, 12, 24].map((n) => n * hour))
const pastSeconds = 30 * day
const busyShare = 0.01
const busyAttemptsShare = 0.86
const tagsCount = 50
const copiesAtOnce = 5_000
const ownJobs = 40

export async function copyJobs(
  { database, now, say, signal }: CopyDeps,
  { jobs, attempts }: DemoSize,
): Promise<void> {
  const count = Math.max(0, jobs - ownJobs)
  const busy = Math.ceil(count * busyShare)
  const kinds = [
    kindOf(`${copyPrefix}b`, busy, attempts * busyAttemptsShare),
    kindOf(`${copyPrefix}c`, count - busy, attempts * (1 - busyAttemptsShare)),
  ].filter((kind) => kind.count > 0)
  for (const kind of kinds) {
    for (let from = 0; from < kind.count; from += copiesAtOnce) {
      if (signal.aborted) throw new StopRequested()
      const copies = listCopies(kind, { from, now })
      await writeCopies(database, copies, now - pastSeconds * 1_000)
      say(
        `Demo: ${(from + copies.length).toLocaleString('en')} of ${kind.count.toLocaleString('en')} copies of a job`,
      )
    }
  }
  let written = 0
  for (let days = pastSeconds / day; days >= 0; days--) {
    for (const { prefix, each, stepSeconds } of kinds) {
      if (signal.aborted) throw new StopRequested()
      const from = now - each * stepSeconds * 1_000
      written += await writeCopiedDay(database, {
        prefix,
        stepSeconds,
        from,
        day: now - days * day * 1_000,
        now,
      })
    }
    say(`Demo: ${written.toLocaleString('en')} attempts of about ${attempts.toLocaleString('en')}`)
  }
  await database.define('VACUUM ANALYZE')
}

function kindOf(prefix: string, count: number, attempts: number): Kind {
  const each = Math.max(1, Math.floor(attempts / Math.max(1, count)))
  return { prefix, count, each, stepSeconds: steps.findLast((step) => step * each <= pastSeconds) ?? minute }
}

function listCopies(kind: Kind, { from, now }: { from: number; now: number }): JobCopy[] {
  const { prefix, count, stepSeconds } = kind
  const draw = drawsOf(7420, `${prefix}${from}`)
  return Array.from({ length: Math.min(copiesAtOnce, count - from) }, (_, i) => {
    const number = String(from + i + 1).padStart(6, '0')
    const offset = Math.floor((draw() * stepSeconds) / minute) * minute
    // Older than the other jobs: lists are newest first.
    const id = drawId(draw, now - pastSeconds * 1_000 + from + i)
    const second = Math.floor(now / 1_000) + 5 * minute
    const slot = (second - ((second - offset) % stepSeconds) + stepSeconds) * 1_000
    return {
      ...{ id, slot, key: `${prefix}-${number}`, cron: cronOf(offset, stepSeconds) },
      name: `Copy ${prefix === `${copyPrefix}b` ? 'busy' : 'calm'} ${number}`,
      tag: `team-${String(Math.floor(draw() * tagsCount)).padStart(2, '0')}`,
      partition: partitionOf(id),
      paused: draw() < 0.03,
    }
  })
}

function cronOf(offset: number, stepSeconds: number): string {
  const minutes = offset / minute
  if (stepSeconds < hour) return `${minutes}-59/${stepSeconds / minute} * * * *`
  if (stepSeconds === day) return `${minutes % 60} ${Math.floor(minutes / 60)} * * *`
  return `${minutes % 60} ${Math.floor(minutes / 60)}-23/${stepSeconds / hour} * * *`
}
