// Short queries for the schedule tests: the runs of a schedule after an instant, as readable text.
import assert from 'node:assert/strict'
import { compileSchedule, type ScheduleContext } from '../../src/domain/schedule/compile-schedule.ts'
import { type CompiledSchedule, nextSlot, previousSlot } from '../../src/domain/schedule/next-run.ts'
import type { ScheduleError } from '../../src/domain/schedule/schedule-error.ts'
import { type EpochMs, epochMs, toRfc3339 } from '../../src/lib/time/epoch.ts'

export function at(text: string): EpochMs {
  return epochMs(Date.parse(text))
}

const context: ScheduleContext = { createdAt: at('2026-01-01T00:00:00Z'), jobId: 'job-1' }

export function compiled(schedule: unknown, more: Partial<ScheduleContext> = {}): CompiledSchedule {
  const answer = compileSchedule(schedule, { ...context, ...more })
  assert.ok(answer.ok, `${JSON.stringify(schedule)}: ${JSON.stringify(answer)}`)
  return answer.value.compiled
}

export function refusal(schedule: unknown, more: Partial<ScheduleContext> = {}): ScheduleError {
  const answer = compileSchedule(schedule, { ...context, ...more })
  assert.ok(!answer.ok, `${JSON.stringify(schedule)} was accepted`)
  return answer.error
}

/** The next slots strictly after `from`, as RFC 3339. */
export function runsAfter(schedule: unknown, from: string, count: number): string[] {
  const one = compiled(schedule)
  const runs: string[] = []
  let slot = nextSlot(one, at(from))
  while (slot !== null && runs.length < count) {
    runs.push(toRfc3339(slot))
    slot = nextSlot(one, slot)
  }
  return runs
}

/** The slots strictly before `from`, latest first. */
export function runsBefore(schedule: unknown, from: string, count: number): string[] {
  const one = compiled(schedule)
  const runs: string[] = []
  let slot = previousSlot(one, at(from))
  while (slot !== null && runs.length < count) {
    runs.push(toRfc3339(slot))
    slot = previousSlot(one, slot)
  }
  return runs
}

export function cron(cron_expression: string, timezone = 'UTC') {
  return { type: 'CRON', cron_expression, timezone } as const
}
