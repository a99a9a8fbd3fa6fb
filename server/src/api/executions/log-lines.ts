// Lines of a log as they are sent, in the form in which they are kept.
import type { LogPartGiven } from '@carillon/contract/worker.ts'
import type { LogLine } from '../../domain/history/log.ts'
import { readInstant } from '../../domain/schedule/instant.ts'
import { type EpochMs, epochMs } from '../../lib/time/epoch.ts'
import type { LogPart } from '../../ports/logs.ts'
import { refuseField } from '../http/problem.ts'

/** `place`: the pointer to the object that holds the lines. */
export function toLogPart(
  given: LogPartGiven,
  of: Pick<LogPart, 'tenantId' | 'executionId' | 'attempt'>,
  { now, place }: { now: EpochMs; place: string },
): LogPart {
  const lines = given.lines.map(({ at, level = 'info', message }, index): LogLine => {
    return { at: at === undefined ? now : readAt(at, `${place}/lines/${index}/at`), level, message }
  })
  return { ...of, firstLine: given.first_line, lines }
}

function readAt(text: string, pointer: string): EpochMs {
  const instant = readInstant(text, 'at', null)
  if (!instant.ok) throw refuseField(pointer, 'must be an instant such as 2026-01-31T09:00:00Z')
  return epochMs(instant.value * 1_000)
}
