// Is everything on time? Every number has its unit and its meaning in one line.
import type { ActivityList } from '@carillon/contract/activity.ts'
import type { Sla } from '@carillon/contract/sla.ts'
import { Link } from '@tanstack/react-router'
import { useMemo } from 'react'
import { useGet } from '../../api/hooks.ts'
import { useSession } from '../../api/session.ts'
import { Chart } from '../../components/chart.tsx'
import { OneOf } from '../../components/one-of.tsx'
import { Card, Page, Waiting } from '../../components/page.tsx'
import { Time } from '../../components/time.tsx'
import { useFilters } from '../../lib/filters.ts'
import { formatBytes, formatCount, formatDuration, formatShare } from '../../lib/format.ts'
import { serverNow, useNow } from '../../lib/now.ts'
import { minuteMs } from '../../lib/units.ts'
import { Figure, Figures } from './figure.tsx'
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
      <Card title="On time">
        <Figures>
          <Figure
            label="Began within 1 s"
            value={formatShare(starts.within_1s)}
            note="Of first attempts of slots and triggers, against when they were due."
          />
          <Figure
            label="Began within 5 s"
            value={formatShare(starts.within_5s)}
            note="The same with five seconds of patience."
            isBad={starts.within_5s !== null && starts.within_5s < onTimeLow}
          />
          <Figure
            label="Latest start"
            value={formatDuration(starts.late_ms_max)}
            note="How late the latest of them began."
          />
          <Figure
            label="Starts"
            value={formatCount(starts.count)}
            note={`First attempts of the last ${text}, of which these shares are.`}
          />
        </Figures>
        <Chart
          label={`Share of starts within 1 s and 5 s, last ${text}`}
          kind="lines"
          unit=""
          format={(share) => `${share} %`}
          times={trend.times}
          series={shares}
        />
      </Card>
      <Card title="Throughput">
        <Figures>
          <Figure
            label="Now"
            value={formatRate(throughput.now_per_second)}
            unit="executions/s"
            note="That ended in the latest minute or two."
          />
          <Figure
            label="Peak"
            value={formatRate(throughput.peak_per_second)}
            unit="executions/s"
            note={
              throughput.peak_at === null ? (
                'Nothing ended in the window.'
              ) : (
                <>
                  In the busiest minute, <Time at={throughput.peak_at} />.
                </>
              )
            }
          />
        </Figures>
        <Chart
          label={`Executions by outcome, last ${text}`}
          kind="stacked"
          unit="executions"
          times={trend.times}
          series={outcomes}
        />
      </Card>
    </>
  )
}

function Outcomes({ sla: { rates } }: { sla: Sla }) {
  return (
    <Card title="How executions end">
      <Figures>
        <Figure
          label="Success"
          value={formatShare(rates.success)}
          note="Of executions that succeeded, failed or timed out."
          isBad={rates.success !== null && rates.success < successLow}
        />
        <Figure
          label="Retries"
          value={formatShare(rates.retry)}
          note="Attempts that were not the first, of all attempts."
        />
        <Figure
          label="Dead letters"
          value={formatShare(rates.dead_letter)}
          note={
            <>
              Executions that used up their retries. <Link to="/dead-letters">Look at them</Link>.
            </>
          }
        />
        <Figure
          label="Timeouts"
          value={formatShare(rates.timeout)}
          note="Executions that took longer than they may."
        />
      </Figures>
    </Card>
  )
}

function Queue({ sla: { queue } }: { sla: Sla }) {
  return (
    <Card title="Queue">
      <Figures>
        <Figure
          label="Depth"
          value={formatCount(queue.depth, queue.depth_capped)}
          unit={queue.depth === 1 ? 'execution' : 'executions'}
          note="That wait for a worker now."
          isBad={queue.depth > queueLong}
        />
        <Figure
          label="Age"
          value={queue.oldest_seconds === null ? 'none' : formatDuration(queue.oldest_seconds * 1_000)}
          note="For how long the oldest of them has waited."
        />
      </Figures>
    </Card>
  )
}

function WorkerFigures({ sla: { workers } }: { sla: Sla }) {
  const isOperator = useSession().data?.operator === true
  return (
    <Card title="Workers" aside={<Link to="/workers">All workers</Link>}>
      <Figures>
        <Figure
          label="Alive"
          value={formatCount(workers.count)}
          unit={workers.count === 1 ? 'worker' : 'workers'}
          note={
            isOperator
              ? 'With a heartbeat in the last 10 s.'
              : 'Your own, with a heartbeat in the last 10 s; those of the installation are not counted.'
          }
          isBad={isOperator && workers.count === 0}
        />
        <Figure
          label="Utilisation"
          value={workers.utilisation === null ? 'none' : formatShare(workers.utilisation)}
          note={`${formatCount(workers.running)} of ${formatCount(workers.capacity)} executions that can run at once.`}
        />
      </Figures>
    </Card>
  )
}

function History({ sla: { history } }: { sla: Sla }) {
  return (
    <Card title="History">
      <Figures>
        {history.map(({ tier, bytes, attempts_estimate, oldest_at }) => (
          <Figure
            key={tier}
            label={`Tier: ${tier}`}
            value={bytes === null ? 'not known yet' : formatBytes(bytes)}
            note={
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
            }
          />
        ))}
      </Figures>
    </Card>
  )
}
