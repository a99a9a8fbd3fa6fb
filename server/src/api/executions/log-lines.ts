// Lines of a log: from the form in which they are sent to the one in which they are kept, and back.
import type { LogList, LogPartGiven } from '@carillon/contract/worker.ts'
import type { LogLine } from '../../domain/history/log.ts'
import { type EpochMs, epochMs, toRfc3339 } from '../../lib/time/epoch.ts'
import type { LogEntry, LogPart } from '../../ports/logs.ts'
import { requireInstant } from '../http/instant.ts'

/** `place`: the pointer to the object that holds the lines. */
export function toLogPart(
  given: LogPartGiven,
  of: Pick<LogPart, 'tenantId' | 'executionId' | 'attempt'>,
  { now, place }: { now: EpochMs; place: string },
): LogPart {
  const lines = given.lines.map(({ at: text, level = 'info', message }, index): LogLine => {
    const at = text === undefined ? now : epochMs(requireInstant(text, `${place}/lines/${index}/at`))
    return { at, level, message }
  })
  return { ...of, firstLine: given.first_line, lines }
}

export function toLogLine({ attempt, line, at, level, message }: LogEntry): LogList['logs'][number] {
  return { attempt_number: attempt, line, at: toRfc3339(at), level, message }
}
