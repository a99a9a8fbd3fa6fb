// The next slots of a schedule, each on its own clock, with the effect of a clock change or an exclusion on it.
import type { SchedulePreviewReply, SchedulePreviewRequest } from '@carillon/contract/schedule.ts'
import { useMemo, useState } from 'react'
import { Icon } from '../../components/icon.tsx'
import { Sentence } from '../../components/sentence.tsx'
import { Time } from '../../components/time.tsx'
import { serverNow, useNow } from '../../lib/now.ts'
import { dayMs } from '../../lib/units.ts'
import { nextClockChange } from './clock-change.ts'
import { usePreview } from './use-preview.ts'
import './next-runs.css'

const shownMax = 10
const touchedMax = 4

/** `request`: the request of the preview. */
export function NextRuns({
  preview,
  request,
}: {
  preview: SchedulePreviewReply
  request: SchedulePreviewRequest
}) {
  const zone = preview.schedule.timezone ?? 'UTC'
  const now = useNow()
  // A zone without clock changes needs no word about them.
  const [from] = useState(serverNow)
  const changes = useMemo(() => nextClockChange(zone, from) !== null, [zone, from])
  const slots = preview.next.filter(({ at, starts_at }) => Date.parse(starts_at ?? at) >= now)
  return (
    <>
      {slots.length === 0 ? (
        <p>No runs ahead.</p>
      ) : (
        <SlotList label="Next runs" slots={slots.slice(0, shownMax)} zone={zone} />
      )}
      <p className="dim">
        Times in {zone}. {changes && preview.rule.text}
      </p>
      <ClockChange zone={zone} request={request} />
    </>
  )
}

type Slots = SchedulePreviewReply['next']

function SlotList({ label, slots, zone }: { label: string; slots: Slots; zone: string }) {
  return (
    <ol className="next-runs" aria-label={label}>
      {slots.map((slot) => (
        <li key={slot.at} className={isExcluded(slot.notes) ? 'is-excluded' : ''}>
          <span className="number">{localText(slot.local, zone)}</span>
          <span className="dim">
            <Time at={slot.starts_at ?? slot.at} />
          </span>
          {slot.notes.map((note) => (
            <span key={note.code} className="slot-note">
              <Icon name={note.code === 'HASHED' || note.code === 'JITTERED' ? 'clock' : 'warn'} />{' '}
              <Sentence text={note.message} />
            </span>
          ))}
        </li>
      ))}
    </ol>
  )
}

const clockNotes = ['GAP', 'FOLD_FIRST', 'FOLD_SECOND']

/** The effect of the next clock change on the slots around it, if it touches any. */
function ClockChange({ zone, request }: { zone: string; request: SchedulePreviewRequest }) {
  const [nowMs] = useState(serverNow)
  const changeMs = useMemo(() => nextClockChange(zone, nowMs), [zone, nowMs])
  const found = usePreview(
    changeMs === null ? null : { ...request, count: 100, from: new Date(changeMs - dayMs).toISOString() },
    { isTyped: true },
  )
  if (changeMs === null || found.data === undefined || found.error !== null) return null
  const touched = found.data.next.filter(
    ({ at, notes }) =>
      Math.abs(Date.parse(at) - changeMs) < dayMs && notes.some(({ code }) => clockNotes.includes(code)),
  )
  const lost = found.data.warnings.filter(({ code }) => code === 'LOST_TO_CLOCK_CHANGE')
  if (touched.length + lost.length === 0) return null
  return (
    <section aria-label="Next clock change">
      <h3>When the clock changes, {new Date(changeMs).toISOString().slice(0, 10)}</h3>
      <SlotList label="Runs at the clock change" slots={touched.slice(0, touchedMax)} zone={zone} />
      <Warnings warnings={lost} />
    </section>
  )
}

export function Warnings({ warnings }: { warnings: readonly { code: string; message: string }[] }) {
  if (warnings.length === 0) return null
  return (
    <ul className="warnings" aria-label="Warnings">
      {warnings.map(({ code, message }) => (
        <li key={code}>
          <Icon name="warn" /> <Sentence text={message} />
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
