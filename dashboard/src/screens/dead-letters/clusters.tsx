// Dead letters by job and error: how many, since when, and one to look at.
import type {
  DeadLetterCluster as Cluster,
  DeadLetterClusterList,
} from '@carillon/contract/dead-letter-cluster.ts'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { ApiProblem } from '../../api/client.ts'
import { useGet } from '../../api/hooks.ts'
import { Button } from '../../components/button.tsx'
import { Card, ErrorBox, Loading } from '../../components/page.tsx'
import { Time } from '../../components/time.tsx'
import { type Filters, useFilters } from '../../lib/filters.ts'
import { formatCount } from '../../lib/format.ts'

interface ClustersProps {
  query: Readonly<Record<string, string>>
  /** Null: it may not be done. */
  onRedrive: ((query: Record<string, string>) => void) | null
}

const shownFirst = 5

export function Clusters({ query, onRedrive }: ClustersProps) {
  const [isLong, setLong] = useState(false)
  const found = useGet<DeadLetterClusterList>('/dead-letters/clusters', { query: { limit: 50 } })
  // A refusal is told by the list below.
  if (found.error instanceof ApiProblem && found.error.status === 403) return null
  if (found.error !== null && found.data === undefined) return <ErrorBox error={found.error} />
  if (found.data === undefined) return <Loading label="Grouping" />
  const { clusters, complete } = found.data
  if (clusters.length === 0) return null
  return (
    <Card
      title="By job and error"
      aside={<span className="dim">{complete ? '' : 'Not all dead letters were examined.'}</span>}
    >
      <ul className="clusters" aria-label="Clusters">
        {(isLong ? clusters : clusters.slice(0, shownFirst)).map((cluster) => (
          <ClusterItem key={keyOf(cluster)} cluster={cluster} query={query} onRedrive={onRedrive} />
        ))}
      </ul>
      {clusters.length > shownFirst && (
        <div>
          <Button kind="quiet" icon="down" aria-expanded={isLong} onClick={() => setLong(!isLong)}>
            {isLong ? 'Show the largest only' : `Show all ${clusters.length} clusters`}
          </Button>
        </div>
      )}
    </Card>
  )
}

function ClusterItem({ cluster, query, onRedrive }: ClustersProps & { cluster: Cluster }) {
  const [, change] = useFilters()
  const { job_id, job_name, error_type, message, http_status, count, count_capped } = cluster
  const of: Record<string, string> = { job_id, ...(error_type !== null && { error_type }) }
  const isOn = query['job_id'] === job_id && query['error_type'] === (error_type ?? undefined)
  const sample = cluster.execution_ids[0]
  const name = `${job_name}, ${error_type ?? 'no error'}`
  return (
    <li className={isOn ? 'cluster on' : 'cluster'}>
      <div className="cluster-count">
        <strong>{formatCount(count, count_capped)}</strong>
        <span className="dim">{count === 1 ? 'dead letter' : 'dead letters'}</span>
      </div>
      <div className="cluster-what">
        <p>
          <strong>{error_type ?? 'no error on record'}</strong>
          {http_status !== null && ` ${http_status}`} · {job_name}
        </p>
        {message !== null && <p className="cluster-message dim">{message}</p>}
        <p className="cluster-age dim">
          oldest <Time at={cluster.oldest_at} />, newest <Time at={cluster.newest_at} />
        </p>
      </div>
      <div className="cluster-actions">
        {sample !== undefined && (
          <Link
            to="/dead-letters"
            className="button button-quiet"
            search={((before: Filters) => ({ ...before, letter: sample })) as never}
            resetScroll={false}
            aria-label={`Newest of ${name}`}
          >
            Newest
          </Link>
        )}
        <Button
          aria-pressed={isOn}
          aria-label={isOn ? `Show all, not only ${name}` : `Show only these: ${name}`}
          onClick={() =>
            change(
              isOn
                ? { job_id: undefined, error_type: undefined }
                : { job_id, error_type: error_type ?? undefined },
            )
          }
        >
          {isOn ? 'Show all' : 'Show only these'}
        </Button>
        {onRedrive !== null && (
          <Button icon="retry" aria-label={`Redrive ${name}`} onClick={() => onRedrive(of)}>
            Redrive
          </Button>
        )}
      </div>
    </li>
  )
}

function keyOf({ job_id, error_type, message, http_status }: Cluster): string {
  return [job_id, error_type, http_status, message].join(' ')
}
