// Executions that ended in each minute of the last hour, by outcome, moving every second.
import type { ActivityItem } from '@carillon/contract/activity.ts'
import { useMemo } from 'react'
import { Chart } from '../../components/chart.tsx'
import { Card } from '../../components/page.tsx'
import { formatCount } from '../../lib/format.ts'
import { serverNow } from '../../lib/now.ts'
import { useStore } from '../../lib/store.ts'
import { liveStatus, pulses } from '../../live/live.ts'
import { minutesOf } from './activity.ts'

export function ActivityCard({ buckets }: { buckets: readonly ActivityItem[] }) {
  const { pulse } = useStore(liveStatus)
  // biome-ignore lint/correctness/useExhaustiveDependencies: a pulse comes every second, and the list of them is kept elsewhere
  const { times, values } = useMemo(() => minutesOf(buckets, pulses, serverNow()), [buckets, pulse])
  const series = useMemo(
    () => [
      { label: 'timed out', colour: '--timed-out', values: values.timed_out },
      { label: 'failed', colour: '--failed', values: values.failed },
      { label: 'succeeded', colour: '--succeeded', values: values.succeeded },
    ],
    [values],
  )
  const aside = pulse !== null && (
    <span className="dim">
      {formatCount(pulse.started)} started in the last second, {formatCount(pulse.running)} running,{' '}
      {formatCount(pulse.waiting)} waiting
    </span>
  )
  const sums = series.map(
    ({ label, values: all }) => `${all.reduce((sum, value) => sum + value, 0)} ${label}`,
  )
  return (
    <Card title="Executions that ended, a minute" aside={aside}>
      <Chart
        label={`Executions that ended in each of the last 60 minutes: ${sums.join(', ')}`}
        times={times}
        series={series}
        kind="stacked"
        unit="executions"
        height={190}
      />
    </Card>
  )
}
