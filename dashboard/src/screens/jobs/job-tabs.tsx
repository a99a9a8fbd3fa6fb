// Which jobs are listed: all, or the ones that fail, are paused or are over; each tab with its count. The choice stands in
// the address, by the names of the API.
import type { JobList } from '@carillon/contract/job.ts'
import type { ReactNode } from 'react'
import { useGet } from '../../api/hooks.ts'
import { ResultsAsOf } from '../../components/results-as-of.tsx'
import { Tabs } from '../../components/tabs.tsx'
import { useFilters } from '../../lib/filters.ts'
import { formatCount } from '../../lib/format.ts'

interface JobTab {
  id: string
  name: string
  filter: { health?: string; status?: string }
  /** Its count stands out when it is not 0. */
  isTrouble?: boolean
}

const jobTabs: readonly JobTab[] = [
  { id: 'all', name: 'All', filter: {} },
  { id: 'failing', name: 'Failing', filter: { health: 'FAILING' }, isTrouble: true },
  { id: 'flaky', name: 'Flaky', filter: { health: 'FLAKY' } },
  { id: 'paused', name: 'Paused', filter: { status: 'PAUSED' } },
  { id: 'completed', name: 'Completed', filter: { status: 'COMPLETED' } },
  { id: 'deleted', name: 'Deleted', filter: { status: 'DELETED' } },
]

/** `query`: the other conditions of the list. */
export function JobTabs({ query, children }: { query: Record<string, string>; children: ReactNode }) {
  const [filters, change] = useFilters()
  const { health, status } = filters
  const current = jobTabs.find(({ filter }) => filter.health === health && filter.status === status)
  const select = (id: string) => {
    const { filter } = jobTabs.find((tab) => tab.id === id)!
    change({ health: undefined, status: undefined, ...filter })
  }
  const { data } = useGet<JobList>('/jobs', { query: { ...query, limit: 1 }, keep: true })
  return (
    <Tabs
      label="Jobs by health and status"
      selected={current?.id ?? 'all'}
      onSelect={select}
      tabs={jobTabs.map((tab) => ({
        id: tab.id,
        name: <TabName tab={tab} query={query} />,
        panel: () => (
          <>
            <ResultsAsOf asOf={data?.health_as_of} />
            {children}
          </>
        ),
      }))}
    />
  )
}

function TabName({
  tab: { name, filter, isTrouble = false },
  query,
}: {
  tab: JobTab
  query: Record<string, string>
}) {
  // Of deleted jobs there may be very many; nobody looks out for them.
  const isCounted = filter.status !== 'DELETED'
  const { data } = useGet<JobList>('/jobs', {
    query: { ...query, ...filter, limit: 1 },
    keep: true,
    enabled: isCounted,
  })
  if (data === undefined) return name
  const { total, total_capped: isCapped } = data.pagination
  return (
    <>
      {name}{' '}
      <span className={isTrouble && total > 0 ? 'tab-count tab-count-bad' : 'tab-count'}>
        {formatCount(total, isCapped)}
      </span>
    </>
  )
}
