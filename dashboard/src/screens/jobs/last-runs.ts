// The latest execution of each job that ran lately: one request for all rows, kept up to date by the stream.
import { useState } from 'react'
import { useGet } from '../../api/hooks.ts'
import { useLive } from '../../live/hooks.ts'
import { endedStatuses } from '../../live/told-execution.ts'

interface LastRun {
  job_id: string
  execution_id: string
  status: string
  scheduled_time: string
}

const runsMax = 200
const jobsMax = 2_000

export function useLastRuns(): ReadonlyMap<string, LastRun> {
  const [told, setTold] = useState<ReadonlyMap<string, LastRun>>(new Map())
  const { data } = useGet<{ executions: LastRun[] }>('/executions', { query: { limit: runsMax } })
  useLive('executions', ({ items }) => setTold((before) => withRuns(before, items)))
  return withRuns(told, data?.executions ?? [])
}

/** The newest execution of each job; a newer event about the same execution replaces the older one. */
export function withRuns(
  before: ReadonlyMap<string, LastRun>,
  runs: readonly LastRun[],
): Map<string, LastRun> {
  const all = new Map(before)
  for (const run of runs) {
    const known = all.get(run.job_id)
    const isNewer = known === undefined || run.scheduled_time > known.scheduled_time
    if (isNewer && (known !== undefined || all.size < jobsMax)) all.set(run.job_id, run)
    else if (known?.execution_id === run.execution_id && !endedStatuses.includes(known.status))
      all.set(run.job_id, run)
  }
  return all
}
