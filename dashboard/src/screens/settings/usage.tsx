// The tenant against the limits of its tier, and how much it ran by day: its own, and for operators of the tenant that
// they look at.
import type { TenantUsage, Usage, UsageDay, UsageDays } from '@carillon/contract/tenant.ts'
import { useMemo } from 'react'
import { chosenTenant } from '../../api/client.ts'
import { useGet } from '../../api/hooks.ts'
import type { Session } from '../../api/session.ts'
import { Chart } from '../../components/chart.tsx'
import { Card, Empty, PlainTable, Waiting } from '../../components/page.tsx'
import { Status } from '../../components/status.tsx'
import { Time } from '../../components/time.tsx'
import { formatCount } from '../../lib/format.ts'
import { useStore } from '../../lib/store.ts'
import { formatUsed, nameOfLimit, shareOf, stateOf } from './usage-text.ts'

const everyMs = 10_000
const daysEveryMs = 60_000

export function UsageCards({ session }: { session: Session }) {
  const chosen = useStore(chosenTenant)
  const path = `/tenants/${chosen ?? session.tenant.tenant_id}/usage`
  return (
    <>
      <LimitsCard path={path} />
      <DaysCard path={`${path}/days`} />
    </>
  )
}

function LimitsCard({ path }: { path: string }) {
  const found = useGet<TenantUsage>(path, { everyMs })
  if (found.data === undefined) return <Waiting found={found} canRetry />
  const { tier, usage } = found.data
  return (
    <Card title={`Usage on the tier ${tier}`}>
      <PlainTable heads={['Limit', 'Used', 'Of', 'Share', 'State', 'Resets']}>
        {usage.map((one) => (
          <UsageRow key={one.name} usage={one} />
        ))}
      </PlainTable>
    </Card>
  )
}

function UsageRow({ usage }: { usage: Usage }) {
  const { name, limit, used, capped, alarm, resets_at: resetsAt } = usage
  const share = shareOf(usage)
  return (
    <tr>
      <td>{nameOfLimit(name)}</td>
      <td>{formatUsed(name, used, capped)}</td>
      <td>{limit === null ? 'no limit' : formatUsed(name, limit)}</td>
      <td>
        {share !== null && (
          // The mark is at 80 %, from which on the tenant is warned.
          <span className="usage-bar" data-alarm={alarm} aria-hidden="true">
            <span style={{ width: `${Math.min(100, share * 100)}%` }} />
          </span>
        )}
      </td>
      <td>
        <Status status={alarm ? 'FAILED' : 'SUCCEEDED'} label={stateOf(usage)} />
      </td>
      <td>{resetsAt === null ? 'with use' : <Time at={resetsAt} />}</td>
    </tr>
  )
}

function DaysCard({ path }: { path: string }) {
  const found = useGet<UsageDays>(path, { everyMs: daysEveryMs })
  if (found.data === undefined) return <Waiting found={found} canRetry />
  const { days } = found.data
  return (
    <Card title="Executions by day">
      {days.length === 0 ? (
        <Empty title="Nothing ran in the last 30 days." />
      ) : (
        <>
          <DaysChart days={days} />
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a part that scrolls must be reached by keys. */}
          <section className="usage-days" aria-label="Executions by day" tabIndex={0}>
            <DaysTable days={days} />
          </section>
        </>
      )}
    </Card>
  )
}

function DaysChart({ days }: { days: readonly UsageDay[] }) {
  const { times, series } = useMemo(
    () => ({
      times: days.map(({ date }) => Date.parse(date) / 1_000),
      series: [
        { label: 'timed out', colour: '--timed-out', values: days.map((day) => day.timed_out) },
        { label: 'failed', colour: '--failed', values: days.map(({ failed }) => failed) },
        { label: 'succeeded', colour: '--succeeded', values: days.map(({ succeeded }) => succeeded) },
      ],
    }),
    [days],
  )
  const total = days.reduce((sum, { executions }) => sum + executions, 0)
  const label = `Executions that ended on each of the last 30 days: ${formatCount(total)} in all`
  return <Chart label={label} times={times} series={series} kind="stacked" unit="executions" />
}

function DaysTable({ days }: { days: readonly UsageDay[] }) {
  return (
    <PlainTable
      heads={['Day (UTC)', 'Executions', 'Succeeded', 'Failed', 'Timed out', 'Cancelled', 'Skipped']}
    >
      {days.toReversed().map((day) => (
        <tr key={day.date}>
          <td>{day.date}</td>
          <td>{formatCount(day.executions)}</td>
          <td>{formatCount(day.succeeded)}</td>
          <td>{formatCount(day.failed)}</td>
          <td>{formatCount(day.timed_out)}</td>
          <td>{formatCount(day.cancelled)}</td>
          <td>{formatCount(day.skipped)}</td>
        </tr>
      ))}
    </PlainTable>
  )
}
