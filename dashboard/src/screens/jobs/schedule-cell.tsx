// When a job runs, in words and with its zone; and how long until it does.
import type { Job } from '@carillon/contract/job.ts'
import { Sentence } from '../../components/sentence.tsx'
import { formatDuration, formatExact } from '../../lib/format.ts'
import { withInstants } from '../../lib/instants.ts'
import { serverNow, useNow } from '../../lib/now.ts'
import { timeMode } from '../../lib/preferences.ts'
import { useStore } from '../../lib/store.ts'
import { scheduleWords } from './schedule-words.ts'

export function ScheduleText({ job }: { job: Pick<Job, 'schedule' | 'depends_on'> }) {
  const { words, isText, zone } = scheduleWords(job)
  const mode = useStore(timeMode)
  const own = job.schedule?.cron_expression ?? job.schedule?.interval
  return (
    <span
      title={[withInstants(words, mode, serverNow()), zone, isText ? undefined : own]
        .filter(Boolean)
        .join('\n')}
    >
      {isText ? <code>{words}</code> : <Sentence text={words} />}
      {zone !== null && <span className="dim"> {zone}</span>}
    </span>
  )
}

/** Counts down, every second. */
export function Countdown({ at }: { at: string | null }) {
  const now = useNow()
  if (at === null) return <span className="dim">–</span>
  const ms = Date.parse(at) - now
  return (
    <time
      dateTime={at}
      className="number"
      title={`${formatExact(at, 'UTC')}\n${formatExact(at, 'local')} here`}
    >
      {ms <= 0
        ? 'now'
        : `in ${formatDuration(Math.ceil(ms / 1_000) * 1_000).replace(/^(\d+)\.0 s$/, '$1 s')}`}
    </time>
  )
}
