// Is everything on time? Every number has its unit and its meaning in one line.
import type { ActivityList } from '@carillon/contract/activity.ts'
import type { Sla } from '@carillon/contract/sla.ts'
import { Link } from '@tanstack/react-router'
import { useMemo } from 'react'
import { useGet } from '../../api/hooks.ts'
import { useSession } from '../../api/session.ts'
import { Chart } from '../../components/chart.tsx'
import { OneOf } from '../../components/one-of.tsx'
import { Page, Waiting } from '../../components/page.tsx'
import { Time } from '../../components/time.tsx'
import { useFilters } from '../../lib/filters.ts'
import { formatBytes, formatCount, formatDuration, formatShare } from '../../lib/format.ts'
import { serverNow, useNow } from '../../lib/now.ts'
import { minuteMs } from '../../lib/units.ts'
import { FigureCard } from './figure.tsx'
import { beginOf, formatRate, readWindow, trendOf, type WindowName, windows } from './trend.ts'
import './sla.css'

const everyMs = 10_000
/** Beyond these a number is shown as something to look at. */
const successLow = 0.95
const queueLong = 10_000
const onTimeLow = 0.99

const windowOptions = Object.entries(windows).map(([value, { name }]) => ({
  value,
  name: name === 'hour' ? '1 hour' : name,
}))

export function SlaScreen() {
  const [filters, change] = useFilters()
  const name = readWindow(filters['window'])
  const found = useGet<Sla>('/sla', { query: { window: name }, everyMs, keep: true })
  return (
    <Page
      title="SLA"
      lead={
        <>
          Is everything on time?{' '}
          {found.data !== undefined && (
            <>
              Counted up to <Time at={found.data.as_of} />.
            </>
          )}
        </>
      }
      actions={
        <OneOf
          look="chips"
          legend="Window"
          options={windowOptions}
          value={name}
          onPress={(window) => change({ window })}
        />
      }
    >
      {found.data === undefined ? <Waiting found={found} /> : <Numbers sla={found.data} name={name} />}
    </Page>
  )
}

function Numbers({ sla, name }: { sla: Sla; name: WindowName }) {
  return (
    <>
      <OnTime sla={sla} name={name} />
      <div className="sla-grid">
        <Outcomes sla={sla} />
        <Queue sla={sla} />
        <WorkerFigures sla={sla} />
        <History sla={sla} />
      </div>
    </>
  )
}

function OnTime({ sla: { starts, throughput }, name }: { sla: Sla; name: WindowName }) {
  const minute = Math.floor(useNow() / minuteMs)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the beginning moves on with the minute
  const from = useMemo(() => new Date(beginOf(name, serverNow())).toISOString(), [name, minute])
  const { step } = windows[name]
  const found = useGet<ActivityList>('/activity', { query: { step, from }, everyMs, keep: true })
  // biome-ignore lint/correctness/useExhaustiveDependencies: computed again with new data
  const trend = useMemo(
    () => trendOf(found.data?.activity ?? [], name, serverNow()),
    [found.data, name, from],
  )
  // The charts are drawn again with new values, not with every tick.
  const shares = useMemo(
    () => [
      { label: 'within 5 s', colour: '--running', values: trend.within5s },
      { label: 'within 1 s', colour: '--succeeded', values: trend.within1s },
    ],
    [trend],
  )
  const outcomes = useMemo(
    () => [
      { label: 'succeeded', colour: '--succeeded', values: trend.succeeded },
      { label: 'failed', colour: '--failed', values: trend.failed },
      { label: 'timed out', colour: '--timed-out', values: trend.timedOut },
    ],
    [trend],
  )
  const text = windows[name].name
  return (
    <>
      <FigureCard
        title="On time"
        figures={{
          'Began within 1 s': [
            formatShare(starts.within_1s),
            'Of first attempts of slots and triggers, against when they were due.',
          ],
          'Began within 5 s': [
            formatShare(starts.within_5s),
            'Within 5 seconds.',
            { isBad: isBelow(starts.within_5s, onTimeLow) },
          ],
          'Latest start': [formatDuration(starts.late_ms_max), 'How late the latest of them began.'],
          Starts: [
            formatCount(starts.count),
            `First attempts of the last ${text}, of which these shares are.`,
          ],
        }}
      >
        <Chart
          label={`Share of starts within 1 s and 5 s, last ${text}`}
          kind="lines"
          unit=""
          format={(share) => `${share} %`}
          times={trend.times}
          series={shares}
        />
      </FigureCard>
      <FigureCard
        title="Throughput"
        figures={{
          Now: [formatRate(throughput.now_per_second), 'That ended in the latest minute or two.', perSecond],
          Peak: [
            formatRate(throughput.peak_per_second),
            <PeakNote key="peak" at={throughput.peak_at} />,
            perSecond,
          ],
        }}
      >
        <Chart
          label={`Executions by outcome, last ${text}`}
          kind="stacked"
          unit="executions"
          times={trend.times}
          series={outcomes}
        />
      </FigureCard>
    </>
  )
}

const perSecond = { unit: 'executions/s' }

function PeakNote({ at }: { at: string | null }) {
  if (at === null) return 'Nothing ended in the window.'
  return (
    <>
      In the busiest minute, <Time at={at} />.
    </>
  )
}

function Outcomes({ sla: { rates } }: { sla: Sla }) {
  const letters = (
    <>
      Executions that used up their retries. <Link to="/dead-letters">View all</Link>.
    </>
  )
  return (
    <FigureCard
      title="How executions end"
      figures={{
        Success: [
          formatShare(rates.success),
          'Of executions that succeeded, failed or timed out.',
          { isBad: isBelow(rates.success, successLow) },
        ],
        Retries: [formatShare(rates.retry), 'Attempts that were not the first, of all attempts.'],
        'Dead letters': [formatShare(rates.dead_letter), letters],
        Timeouts: [formatShare(rates.timeout), 'Executions that took longer than they may.'],
      }}
    />
  )
}

function Queue({ sla: { queue } }: { sla: Sla }) {
  const { depth, depth_capped, oldest_seconds: seconds } = queue
  return (
    <FigureCard
      title="Queue"
      figures={{
        Depth: [
          formatCount(depth, depth_capped),
          'That wait for a worker now.',
          { unit: depth === 1 ? 'execution' : 'executions', isBad: depth > queueLong },
        ],
        Age: [
          seconds === null ? 'none' : formatDuration(seconds * 1_000),
          'For how long the oldest of them has waited.',
        ],
      }}
    />
  )
}

function WorkerFigures({ sla: { workers } }: { sla: Sla }) {
  const isOperator = useSession().data?.operator === true
  const { count, draining, dead_last_hour: dead, running, capacity, utilisation } = workers
  return (
    <FigureCard
      title="Workers"
      aside={<Link to="/workers">All workers</Link>}
      figures={{
        Alive: [
          formatCount(count),
          isOperator
            ? 'With a heartbeat in the last 10 s.'
            : 'Your own, with a heartbeat in the last 10 s; workers of the installation are not counted.',
          { unit: count === 1 ? 'worker' : 'workers', isBad: isOperator && count === 0 },
        ],
        Draining: [
          formatCount(draining),
          'Of the live ones: they finish their executions and claim no more.',
        ],
        Dead: [
          formatCount(dead),
          'Without a heartbeat for 10 s, in the last hour. Their executions ran elsewhere.',
          { unit: dead === 1 ? 'worker' : 'workers', isBad: dead > 0 },
        ],
        Utilisation: [
          utilisation === null ? 'none' : formatShare(utilisation),
          `${formatCount(running)} of ${formatCount(capacity)} executions that can run at once.`,
        ],
      }}
    />
  )
}

function History({ sla: { history } }: { sla: Sla }) {
  const figures = history.map((one) => {
    const value = one.bytes === null ? 'not known yet' : formatBytes(one.bytes)
    return [`Tier: ${one.tier}`, [value, <TierNote key={one.tier} {...one} />]] as const
  })
  const written = history.map(({ tier, attempts_per_day, bytes_per_day }) => {
    const note = bytes_per_day === null ? 'Size not known yet.' : `About ${formatBytes(bytes_per_day)} a day.`
    return [`Written a day: ${tier}`, [`${formatCount(attempts_per_day)} attempts`, note]] as const
  })
  return <FigureCard title="History" figures={Object.fromEntries([...figures, ...written])} />
}

function TierNote({ tier, attempts_estimate, oldest_at }: Sla['history'][number]) {
  return (
    <>
      About {formatCount(attempts_estimate)} attempts
      {oldest_at !== null && (
        <>
          {' '}
          since <Time at={oldest_at} />
        </>
      )}
      {tier === 'hot' && ', in PostgreSQL with its indexes'}.
    </>
  )
}

function isBelow(share: number | null, low: number): boolean {
  return share !== null && share < low
}
