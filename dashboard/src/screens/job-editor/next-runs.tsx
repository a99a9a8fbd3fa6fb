// The next slots of a schedule, each on its own clock, with what a clock change or an exclusion does to it.
import type { SchedulePreviewReply } from '@carillon/contract/schedule.ts'
import { Icon } from '../../components/icon.tsx'
import { Time } from '../../components/time.tsx'
import { useNow } from '../../lib/now.ts'
import './next-runs.css'

const shownMax = 10

export function NextRuns({ preview }: { preview: SchedulePreviewReply }) {
  const zone = preview.schedule.timezone ?? 'UTC'
  const now = useNow()
  const slots = preview.next.filter(({ at, starts_at }) => Date.parse(starts_at ?? at) >= now)
  return (
    <>
      {slots.length === 0 ? (
        <p>No slot lies ahead.</p>
      ) : (
        <ol className="next-runs" aria-label="Next runs">
          {slots.slice(0, shownMax).map((slot) => (
            <li key={slot.at} className={isExcluded(slot.notes) ? 'is-excluded' : ''}>
              <span className="number">{localText(slot.local, zone)}</span>
              <span className="dim">
                <Time at={slot.starts_at ?? slot.at} />
              </span>
              {slot.notes.map((note) => (
                <span key={note.code} className="slot-note">
                  <Icon name={note.code === 'HASHED' || note.code === 'JITTERED' ? 'clock' : 'warn'} />{' '}
                  {note.message}
                </span>
              ))}
            </li>
          ))}
        </ol>
      )}
      <p className="dim">
        On the clock of {zone}. {preview.rule.text}
      </p>
    </>
  )
}

export function Warnings({ warnings }: { warnings: readonly { code: string; message: string }[] }) {
  if (warnings.length === 0) return null
  return (
    <ul className="warnings" aria-label="Warnings">
      {warnings.map(({ code, message }) => (
        <li key={code}>
          <Icon name="warn" /> {message}
        </li>
      ))}
    </ul>
  )
}

function isExcluded(notes: readonly { code: string }[]): boolean {
  return notes.some(({ code }) => code === 'EXCLUDED')
}

/** "Tue 2026-11-17 09:00:00 -05:00". */
function localText(local: string, zone: string): string {
  const match = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.\d+)?(.*)$/.exec(local)
  if (match === null) return local
  const weekday = new Date(`${match[1]}T00:00:00Z`).toLocaleDateString('en-GB', {
    weekday: 'short',
    timeZone: 'UTC',
  })
  return `${weekday} ${match[1]} ${match[2]} ${zone === 'UTC' ? 'UTC' : match[3]}`
}
