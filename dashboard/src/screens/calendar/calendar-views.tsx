// The day as lanes of hours, the week as hours by days, the month as days.
import { Link } from '@tanstack/react-router'
import { JobLink } from '../../components/links.tsx'
import { plural } from '../../lib/format.ts'
import {
  addUp,
  type Clock,
  type Counts,
  countIn,
  type Day,
  hoursOf,
  type Span,
  sayCounts,
} from './calendar-grid.ts'
import { type Cell, CellGrid } from './cell-grid.tsx'
import type { CalendarRuns, Runs } from './use-runs.ts'

interface ViewProps {
  days: readonly Day[]
  runs: CalendarRuns
  clock: Clock
  nowMs: number
  chosen: string | null
  onChoose(cell: Cell): void
}

const weekdays = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun']

/** A lane for each job; without a filter one for all of them. */
export function DayView({ days, runs, clock, nowMs, chosen, onChoose }: ViewProps) {
  const day = days[0]!
  const hours = hoursOf(day)
  const names = hours.map((hour) => hourName(hour.fromMs, clock))
  const lanes = runs.lanes ?? [{ job_id: '', name: 'All jobs', ...runs.all }]
  const rows = lanes.map((lane) => {
    const counts = countIn(hours, lane.past, lane.ahead)
    return {
      id: lane.job_id,
      head:
        lane.job_id === '' ? (
          lane.name
        ) : (
          <JobLink id={lane.job_id} className="cut">
            {lane.name}
          </JobLink>
        ),
      cells: hours.map((hour, index) => ({
        ...cellOf(hour, counts[index]!, nowMs),
        id: `${lane.job_id} ${hour.fromMs}`,
        jobId: lane.job_id,
        name: `${lane.name}, ${day.date} ${names[index]}`,
      })),
    }
  })
  return (
    <CellGrid
      label={`Hours of ${day.date}`}
      className="lanes"
      columns={names.map((name) => name.slice(0, 2))}
      rows={rows}
      chosen={chosen}
      onChoose={onChoose}
    />
  )
}

export function WeekView({ days, runs, clock, nowMs, chosen, onChoose }: ViewProps) {
  const byDay = days.map((day) => ({ day, hours: hoursOf(day), counts: countHours(day, runs.all) }))
  const rows = Array.from({ length: 24 }, (_, hour) => ({
    id: String(hour),
    head: `${String(hour).padStart(2, '0')}:00`,
    cells: byDay.map(({ day, hours, counts }) => {
      // A day on which the clock changes has an hour more or less: its last row takes the rest, or is empty.
      const spans = hour === 23 ? hours.slice(23) : hours.slice(hour, hour + 1)
      const span = { fromMs: spans[0]?.fromMs ?? day.toMs, toMs: spans.at(-1)?.toMs ?? day.toMs }
      const sum = addUp(hour === 23 ? counts.slice(23) : counts.slice(hour, hour + 1))
      return {
        ...cellOf(span, sum, nowMs),
        id: `${day.date} ${hour}`,
        name: `${day.date} ${hourName(span.fromMs, clock)}`,
      }
    }),
  }))
  return (
    <CellGrid
      label={`Week from ${days[0]?.date}`}
      className="week"
      columns={days.map((day, index) => `${weekdays[index]} ${day.date.slice(8)}`)}
      rows={rows}
      chosen={chosen}
      onChoose={onChoose}
    />
  )
}

export function MonthView(props: ViewProps & { marks: (date: string) => string[] }) {
  const { days, runs, nowMs, chosen, onChoose, marks } = props
  const counts = countIn(days, runs.all.past, runs.all.ahead)
  const rows = Array.from({ length: days.length / 7 }, (_, week) => ({
    id: days[week * 7]!.date,
    head: <span className="unseen">Week of {days[week * 7]!.date}</span>,
    cells: days.slice(week * 7, week * 7 + 7).map((day, index) => {
      const marked = marks(day.date)
      return {
        ...cellOf(day, counts[week * 7 + index]!, nowMs),
        id: day.date,
        name: marked.length === 0 ? day.date : `${day.date} (${marked.join(', ')})`,
        isDim: day.isOutside,
        head: (
          <span className="day-head">
            {Number(day.date.slice(8))}
            {marked.length > 0 && <span className="day-mark"> {marked.join(', ')}</span>}
          </span>
        ),
      }
    }),
  }))
  return (
    <CellGrid
      label={`Days of ${days[7]?.date.slice(0, 7)}`}
      className="month"
      columns={weekdays}
      rows={rows}
      chosen={chosen}
      onChoose={onChoose}
    />
  )
}

/** The content of a cell, job by job where that is known. */
export function CellDetails({
  cell,
  runs,
  search,
}: {
  cell: Cell
  runs: CalendarRuns
  search: Record<string, string>
}) {
  const lanes = (runs.lanes ?? [])
    .filter(({ job_id }) => !cell.jobId || job_id === cell.jobId)
    .map((lane) => ({ lane, counts: countIn([cell], lane.past, lane.ahead)[0]! }))
    .filter(({ counts }) => counts.ok + counts.bad + counts.ahead > 0)
  const { ok, bad, ahead, isAbout } = cell.counts
  const range = {
    ...search,
    ...(cell.jobId && { job_id: cell.jobId }),
    start_date: new Date(cell.fromMs).toISOString(),
    end_date: new Date(cell.toMs - 1).toISOString(),
  }
  return (
    <section className="cell-details" aria-label="Runs of the chosen time">
      <p role="status">
        <strong>{cell.name}:</strong>{' '}
        {ok + bad > 0 && `${plural(ok, 'execution')} succeeded, ${bad} failed. `}
        {ahead > 0 && `${isAbout ? 'About ' : ''}${plural(ahead, 'slot')} to come. `}
        {ok + bad + ahead === 0 && 'Nothing.'}{' '}
        {ok + bad > 0 && (
          <Link to="/executions" search={range as never}>
            View executions
          </Link>
        )}
      </p>
      {lanes.length > 0 && (
        <ul>
          {lanes.map(({ lane, counts }) => (
            <li key={lane.job_id}>
              <JobLink id={lane.job_id}>{lane.name}</JobLink> <span className="dim">{sayCounts(counts)}</span>
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}

function countHours(day: Day, runs: Runs): Counts[] {
  return countIn(hoursOf(day), runs.past, runs.ahead)
}

function cellOf(span: Span, counts: Counts, nowMs: number) {
  return { ...span, counts, isNow: span.fromMs <= nowMs && nowMs < span.toMs }
}

function hourName(ms: number, clock: Clock): string {
  const at = new Date(ms)
  const hour = clock === 'UTC' ? at.getUTCHours() : at.getHours()
  return `${String(hour).padStart(2, '0')}:00`
}
