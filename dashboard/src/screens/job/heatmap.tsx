// A year of a job, a square a day. Drawn on a canvas; the arrow keys go from day to day, and the counts of a day are
// given in words below, as are the months.
import type { ActivityList } from '@carillon/contract/activity.ts'
import { useNavigate } from '@tanstack/react-router'
import { type KeyboardEvent, type MouseEvent, useEffect, useMemo, useRef, useState } from 'react'
import { useGet } from '../../api/hooks.ts'
import { Card, PlainTable, Waiting } from '../../components/page.tsx'
import { formatCount, plural } from '../../lib/format.ts'
import { readColour, useThemeName } from '../../lib/media.ts'
import { serverNow } from '../../lib/now.ts'
import {
  type Day,
  dayAt,
  firstDayMs,
  layOutYear,
  monthTotals,
  sayDay,
  weeks,
  type Year,
} from './heatmap-layout.ts'

const leftPx = 30
const topPx = 16
const rowNames = ['Mon', '', 'Wed', '', 'Fri', '', '']

export function Heatmap({ jobId }: { jobId: string }) {
  const [todayMs] = useState(serverNow)
  const from = new Date(firstDayMs(todayMs)).toISOString()
  const found = useGet<ActivityList>('/activity', {
    query: { step: 'day', from, job_id: jobId },
    everyMs: 60_000,
  })
  const year = useMemo(() => layOutYear(found.data?.activity ?? [], todayMs), [found.data, todayMs])
  return (
    <Card title="Year" aside={found.error === null && <Legend />}>
      <Waiting found={found} />
      {found.isSuccess && <YearCanvas year={year} jobId={jobId} />}
    </Card>
  )
}

function YearCanvas({ year, jobId }: { year: Year; jobId: string }) {
  const canvas = useRef<HTMLCanvasElement>(null)
  const box = useRef<HTMLDivElement>(null)
  const [width, setWidth] = useState(0)
  const [day, setDay] = useState<Day | null>(null)
  const themeName = useThemeName()
  const navigate = useNavigate()
  useEffect(() => {
    const element = box.current
    if (element === null) return
    const observer = new ResizeObserver(() => setWidth(element.clientWidth))
    observer.observe(element)
    return () => observer.disconnect()
  }, [])
  // On a narrow window the latest weeks are shown, not all of them small.
  const shownWeeks = Math.min(weeks, Math.floor((width - leftPx) / 11))
  const skipped = weeks - shownWeeks
  const cell = width === 0 ? 0 : Math.min(17, Math.floor((width - leftPx) / Math.max(1, shownWeeks)))
  // biome-ignore lint/correctness/useExhaustiveDependencies: drawn anew with the theme
  useEffect(() => {
    if (canvas.current !== null && cell > 0) draw(canvas.current, { year, cell, skipped, shownWeeks, day })
  }, [year, cell, skipped, shownWeeks, day, themeName])

  const open = (chosen: Day | null) => {
    if (chosen === null || chosen.level === 0) return
    void navigate({
      to: '/executions',
      search: { job_id: jobId, start_date: chosen.date, end_date: chosen.date } as never,
    })
  }
  const under = (event: MouseEvent) => {
    const rect = canvas.current?.getBoundingClientRect()
    if (rect === undefined || cell === 0) return null
    const week = Math.floor((event.clientX - rect.left - leftPx) / cell) + skipped
    return week < skipped ? null : dayAt(year, week, Math.floor((event.clientY - rect.top - topPx) / cell))
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const steps: Record<string, number> = { ArrowLeft: -7, ArrowRight: 7, ArrowUp: -1, ArrowDown: 1 }
    const step = steps[event.key]
    if (event.key === 'Enter') open(day)
    else if (step === undefined) return
    else {
      const last = year.days.length - 1
      const at = day === null ? last : day.week * 7 + day.weekday + step
      const next = year.days[Math.max(skipped * 7, Math.min(last, at))]
      if (next !== undefined) setDay(next)
    }
    event.preventDefault()
  }
  const said = sayYear(year)
  return (
    <>
      <div
        ref={box}
        role="group"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the arrow keys go from day to day
        tabIndex={0}
        className="heatmap"
        aria-label={`${said} Arrow keys go from day to day, Enter opens its executions.`}
        onKeyDown={onKeyDown}
        onMouseMove={(event) => setDay(under(event))}
        onMouseLeave={() => setDay(null)}
        onClick={(event) => open(under(event))}
      >
        <canvas ref={canvas} />
      </div>
      <p role="status" className="dim">
        {day === null ? said : sayDay(day)}
      </p>
      <Months year={year} />
    </>
  )
}

function Months({ year }: { year: Year }) {
  const months = monthTotals(year)
  if (months.length === 0) return null
  return (
    <details>
      <summary>By month</summary>
      <PlainTable heads={['Month', 'Succeeded', 'Failed or timed out']}>
        {months.map(({ month, ok, bad }) => (
          <tr key={month}>
            <th scope="row">{month}</th>
            <td>{formatCount(ok)}</td>
            <td>{formatCount(bad)}</td>
          </tr>
        ))}
      </PlainTable>
    </details>
  )
}

function Legend() {
  return (
    <span className="heatmap-legend dim" aria-hidden="true">
      fewer <i className="level-1" /> <i className="level-2" /> <i className="level-3" />{' '}
      <i className="level-4" /> more · <i className="level-bad" /> failures
    </span>
  )
}

function sayYear({ ran, bad, busiest }: Year): string {
  if (ran === 0) return 'Nothing ran in the last year.'
  const failed = bad === 0 ? 'none failed' : `${formatCount(bad)} failed or timed out`
  return `${plural(ran, 'execution')} ended in the last year, ${failed}; most on ${busiest?.date}.`
}

interface Drawn {
  year: Year
  cell: number
  skipped: number
  shownWeeks: number
  day: Day | null
}

function draw(canvas: HTMLCanvasElement, { year, cell, skipped, shownWeeks, day }: Drawn): void {
  const ratio = window.devicePixelRatio || 1
  const width = leftPx + shownWeeks * cell
  const height = topPx + 7 * cell
  canvas.width = width * ratio
  canvas.height = height * ratio
  canvas.style.width = `${width}px`
  canvas.style.height = `${height}px`
  const pen = canvas.getContext('2d')
  if (pen === null) return
  pen.scale(ratio, ratio)
  pen.font = '10px system-ui, sans-serif'
  pen.fillStyle = readColour('--text-2')
  for (const [row, name] of rowNames.entries()) pen.fillText(name, 0, topPx + row * cell + cell * 0.75)
  for (const month of year.months) {
    if (month.week >= skipped) pen.fillText(month.name, leftPx + (month.week - skipped) * cell, 10)
  }
  const colours = { none: readColour('--bg-3'), ok: readColour('--succeeded'), bad: readColour('--failed') }
  for (const one of year.days) {
    if (one.week < skipped) continue
    const x = leftPx + (one.week - skipped) * cell
    const y = topPx + one.weekday * cell
    const size = cell - 2
    pen.globalAlpha = 1
    pen.fillStyle = colours.none
    pen.fillRect(x, y, size, size)
    if (one.level > 0) {
      pen.globalAlpha = [0, 0.3, 0.5, 0.75, 1][one.level] ?? 1
      pen.fillStyle = colours.ok
      pen.fillRect(x, y, size, size)
      if (one.bad > 0) {
        // Failures fill the square from below, so that their share is seen and not only their colour.
        const high = Math.max(3, Math.round(size * one.badShare))
        pen.globalAlpha = 1
        pen.fillStyle = colours.bad
        pen.fillRect(x, y + size - high, size, high)
      }
    }
    if (one === day) {
      pen.globalAlpha = 1
      pen.strokeStyle = readColour('--text')
      pen.lineWidth = 1.5
      pen.strokeRect(x - 0.5, y - 0.5, size + 1, size + 1)
    }
  }
}
