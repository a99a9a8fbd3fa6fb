// Past and future executions, by day, week or month: past in colour, future as ghosts; and days on which not to run.
import type { Calendar } from '@carillon/contract/calendar.ts'
import { useState } from 'react'
import { useList } from '../../api/hooks.ts'
import { Button } from '../../components/button.tsx'
import { FilterBar, FilterText } from '../../components/filter-bar.tsx'
import { OneOf } from '../../components/one-of.tsx'
import { ErrorBox, Loading, Page } from '../../components/page.tsx'
import { useFilters, useQueryOf } from '../../lib/filters.ts'
import { formatCount } from '../../lib/format.ts'
import { serverNow } from '../../lib/now.ts'
import { timeMode } from '../../lib/preferences.ts'
import { useStore } from '../../lib/store.ts'
import { calendarsOn, dateOf, daysOf, isDate, stepDate, VIEWS } from './calendar-grid.ts'
import { CellDetails, DayView, MonthView, WeekView } from './calendar-views.tsx'
import { CalendarsCard } from './calendars-card.tsx'
import type { Cell } from './cell-grid.tsx'
import { lanesMax, useRuns } from './use-runs.ts'
import './calendar.css'

const filterNames = ['q', 'tag'] as const

export function CalendarScreen() {
  const [filters, change] = useFilters()
  const clock = useStore(timeMode) === 'UTC' ? 'UTC' : 'local'
  const [nowMs] = useState(serverNow)
  const [chosen, setChosen] = useState<Cell | null>(null)
  const view = VIEWS.find((one) => one === filters['view']) ?? 'week'
  const today = dateOf(nowMs, clock)
  const date = isDate(filters['date']) ? filters['date'] : today
  const days = daysOf(view, date, clock)
  const filter = useQueryOf(filterNames)
  const runs = useRuns({ fromMs: days[0]!.fromMs, toMs: days.at(-1)!.toMs }, filter)
  const calendars = useList<Calendar>('/calendars', 'calendars', { query: { limit: 50 } })
  const go = (next: string | undefined) => {
    setChosen(null)
    change({ date: next === today ? undefined : next })
  }
  const shared = { days, runs, clock, nowMs, chosen: chosen?.id ?? null, onChoose: setChosen } as const
  return (
    <Page
      title="Calendar"
      lead={`Times shown in ${clock === 'UTC' ? 'UTC' : new Intl.DateTimeFormat().resolvedOptions().timeZone}`}
    >
      <FilterBar names={filterNames}>
        <FilterText name="q" label="Name, key or tag of jobs" isSearch />
        <FilterText name="tag" label="Tag" />
      </FilterBar>
      <div className="calendar-bar">
        <OneOf
          look="switch"
          legend="View"
          options={VIEWS.map((value) => ({ value, name: value }))}
          value={view}
          onPress={(one) => {
            setChosen(null)
            change({ view: one === 'week' ? undefined : one })
          }}
        />
        <Button icon="left" aria-label={`The ${view} before`} onClick={() => go(stepDate(view, date, -1))} />
        <Button onClick={() => go(undefined)}>Today</Button>
        <Button icon="right" aria-label={`The ${view} after`} onClick={() => go(stepDate(view, date, 1))} />
        <h2>{titleOf(view, date, days)}</h2>
        {runs.isLoading && <Loading />}
      </div>
      {runs.error !== null && runs.error !== undefined && <ErrorBox error={runs.error} />}
      {view === 'day' && <DayView {...shared} />}
      {view === 'week' && <WeekView {...shared} />}
      {view === 'month' && <MonthView {...shared} marks={(day) => calendarsOn(day, calendars.items)} />}
      <p className="calendar-legend dim">
        <i className="is-past" /> executions that ran, <i className="is-bad" /> some failed,{' '}
        <i className="is-ahead" /> slots to come. {runs.missing}
        {runs.unseen > 0 &&
          ` ${formatCount(runs.unseen)} more jobs match; the first ${lanesMax} are shown, so narrow the filter.`}
        {runs.lanes === null && ' Filter to see job by job.'}
      </p>
      {chosen !== null && <CellDetails cell={chosen} runs={runs} search={filter} />}
      <CalendarsCard list={calendars} />
    </Page>
  )
}

function titleOf(view: string, date: string, days: readonly { date: string }[]): string {
  const at = (day: string, options: Intl.DateTimeFormatOptions) =>
    new Date(`${day}T00:00:00Z`).toLocaleDateString('en-GB', { ...options, timeZone: 'UTC' })
  if (view === 'month') return at(date, { month: 'long', year: 'numeric' })
  if (view === 'day') return at(date, { weekday: 'long', day: 'numeric', month: 'long', year: 'numeric' })
  const short = { day: 'numeric', month: 'short' } as const
  return `${at(days[0]!.date, short)} to ${at(days.at(-1)!.date, { ...short, year: 'numeric' })}`
}
