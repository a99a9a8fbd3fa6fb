// The workers that run attempts, and the schedulers that fire the partitions of all jobs.
import type { PartitionList } from '@carillon/contract/partition.ts'
import type { WorkerList } from '@carillon/contract/worker.ts'
import { Link } from '@tanstack/react-router'
import { useMemo } from 'react'
import { useGet } from '../../api/hooks.ts'
import { useSession } from '../../api/session.ts'
import { type Column, DataTable, wideColumn } from '../../components/data-table.tsx'
import { Icon } from '../../components/icon.tsx'
import { Empty, Page, Waiting } from '../../components/page.tsx'
import { Status } from '../../components/status.tsx'
import { Time } from '../../components/time.tsx'
import { formatCount, formatDuration, plural, shortId } from '../../lib/format.ts'
import { useIsPhone } from '../../lib/media.ts'
import { useNow } from '../../lib/now.ts'
import { leaseLeftMs } from './holders.ts'
import { PartitionGrid } from './partition-grid.tsx'
import './workers.css'

type Worker = WorkerList['workers'][number]

const everyMs = 3_000

export function WorkersScreen() {
  const session = useSession()
  const isOperator = session.data?.operator === true
  const workers = useGet<WorkerList>('/workers', { everyMs })
  const partitions = useGet<PartitionList>('/partitions', { everyMs, enabled: isOperator })
  const all = useMemo(() => inOrder(workers.data?.workers ?? []), [workers.data])
  return (
    <Page
      title="Workers"
      lead={
        workers.data === undefined || all.length === 0
          ? 'The processes that run attempts.'
          : leadOf(workers.data)
      }
    >
      <DataTable
        label="Workers"
        rows={all}
        columns={columns}
        rowKey={({ worker_id }) => worker_id}
        list={{ isLoading: workers.isPending, error: workers.error }}
        empty={<NoWorkers />}
      />
      {isOperator && (
        <>
          <h2>Partitions</h2>
          {partitions.data === undefined ? (
            <Waiting found={partitions} />
          ) : (
            <PartitionGrid list={partitions.data} />
          )}
        </>
      )}
    </Page>
  )
}

/** Workers that are gone come last, the latest first. */
function inOrder(workers: readonly Worker[]): Worker[] {
  const gone = workers.filter(({ ended_at }) => ended_at !== null)
  gone.sort((a, b) => (a.ended_at! < b.ended_at! ? 1 : -1))
  return [...workers.filter(({ ended_at }) => ended_at === null), ...gone]
}

function leadOf({ workers, counts, next_cursor }: WorkerList): string {
  const { active, draining, dead_last_hour: dead, running, capacity } = counts
  const others = [
    ...(draining > 0 ? [`${formatCount(draining)} draining`] : []),
    ...(dead > 0 ? [`${formatCount(dead)} dead in the last hour`] : []),
  ]
  const alive = [`${plural(active, 'worker')} active`, ...others].join(', ')
  const shown = next_cursor === null ? '' : ` The first ${formatCount(workers.length)} are shown.`
  return `${alive}; ${formatCount(running)} of ${formatCount(capacity)} executions running.${shown}`
}

const columns: Column<Worker>[] = [
  { header: 'Host', width: 'minmax(8rem, 1.4fr)', cell: (worker) => <HostCell worker={worker} /> },
  { header: 'Status', width: '7rem', cell: (worker) => <WorkerStatus worker={worker} /> },
  wideColumn('Runs', 'minmax(9rem, 2fr)', (worker) => (
    <span title={runsOf(worker)}>
      {runsOf(worker)}
      {worker.labels.length > 0 && <span className="dim"> · {worker.labels.join(', ')}</span>}
    </span>
  )),
  wideColumn('Running / capacity', '12rem', ({ current_load, capacity }) => (
    <span className="load">
      <meter
        min={0}
        max={Math.max(1, capacity)}
        value={current_load}
        aria-label="Executions running, of the capacity"
      />
      <span className="number">
        {formatCount(current_load)} / {formatCount(capacity)}
      </span>
    </span>
  )),
  wideColumn('Heartbeat', '8rem', ({ last_heartbeat }) => <Time at={last_heartbeat} />),
  wideColumn('Lease', '7rem', (worker) => <Lease worker={worker} />),
  wideColumn('Registered', '8rem', ({ registered_at }) => <Time at={registered_at} />),
]

function HostCell({ worker }: { worker: Worker }) {
  const isPhone = useIsPhone()
  const { host, port, version, worker_id, tenant_id, current_load, capacity } = worker
  const whose = tenant_id === null ? 'part of the installation' : "a tenant's own"
  return (
    <span className={isPhone ? 'two-lines' : ''} title={`${worker_id}, ${whose}`}>
      <span>
        <Link to="/executions" search={{ worker_id } as never} title="Executions of this worker">
          {port === null ? host : `${host}:${port}`}
        </Link>{' '}
        <span className="dim">{version}</span>
      </span>{' '}
      <span className="dim">
        {isPhone
          ? `${formatCount(current_load)} / ${formatCount(capacity)} running`
          : `${shortId(worker_id)}${tenant_id === null ? '' : ', own'}`}
      </span>
    </span>
  )
}

function WorkerStatus({ worker: { status } }: { worker: Worker }) {
  if (status === 'DEAD') return <Status status="LOST" label="dead" />
  if (status === 'LEFT') return <Status status="CANCELLED" label="left" />
  if (status === 'DRAINING') return <Status status="PAUSED" label="draining" />
  return <Status status="ACTIVE" label="alive" />
}

function Lease({ worker: { status, last_heartbeat, ended_at } }: { worker: Worker }) {
  const leftMs = leaseLeftMs(last_heartbeat, useNow())
  if (ended_at !== null)
    return (
      <span className="dim">
        ended <Time at={ended_at} />
      </span>
    )
  if (status === 'DEAD' || leftMs === 0) {
    return (
      <span className="dim">
        <Icon name="warn" /> run out
      </span>
    )
  }
  return <span className="number">{formatDuration(leftMs)} left</span>
}

function runsOf({ executors, handlers }: Worker): string {
  return handlers.length > 0 ? handlers.join(', ') : `calls by ${executors.join(', ')}`
}

function NoWorkers() {
  return (
    <Empty
      title="You have no workers of your own."
      code={`import { createWorker, defineJob } from '@carillon/sdk'

const greet = defineJob({ key: 'greet', run: async ({ name }) => ({ said: 'hello ' + name }) })
await createWorker({ url: '${location.origin}', key: process.env.CARILLON_API_KEY, jobs: [greet] })`}
    >
      Callbacks over HTTP are called by the installation itself. To run handlers in a process of yours:
    </Empty>
  )
}
