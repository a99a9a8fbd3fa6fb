// The facts that the server reports: its version, its roles, and whether it can do its work.
import type { Ready } from '@carillon/contract/health.ts'
import { useQuery } from '@tanstack/react-query'
import { Card, ErrorBox, Facts, Loading } from '../../components/page.tsx'
import { Status } from '../../components/status.tsx'

const everyMs = 10_000
const askMsMax = 10_000

export function ServerFacts() {
  const found = useQuery({ queryKey: ['/readyz', {}], queryFn: readReady, refetchInterval: everyMs })
  if (found.error !== null && found.data === undefined)
    return <ErrorBox error={found.error} onRetry={() => void found.refetch()} />
  if (found.data === undefined) return <Loading />
  const { status, version, roles, checks } = found.data
  return (
    <div className="grid-2">
      <Card title="Server">
        <Facts
          facts={[
            [
              'State',
              <Status
                key="state"
                status={status === 'ready' ? 'ACTIVE' : 'FAILED'}
                label={status === 'ready' ? 'ready' : 'not ready'}
              />,
            ],
            ['Version', version],
            ['Roles of this process', roles.join(', ')],
            ['Address', location.origin],
          ]}
        />
        <ul className="server-links">
          <li>
            <a href="/docs">Documentation</a>
          </li>
          <li>
            <a href="/openapi.json">The API as OpenAPI</a>
          </li>
          <li>
            <a href="/metrics">Metrics for Prometheus</a>
          </li>
        </ul>
      </Card>
      <Card title="Checks">
        <table className="plain-table">
          <thead>
            <tr>
              <th scope="col">What it needs</th>
              <th scope="col">How that is</th>
            </tr>
          </thead>
          <tbody>
            {Object.entries(checks).map(([name, text]) => (
              <tr key={name}>
                <td>{name}</td>
                <td>
                  <Status status={text === 'ok' ? 'SUCCEEDED' : 'FAILED'} label={text} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Card>
    </div>
  )
}

// A server that is not ready says so with 503 and the same body.
async function readReady(): Promise<Ready> {
  const response = await fetch('/readyz', { signal: AbortSignal.timeout(askMsMax) })
  if (!response.ok && response.status !== 503) throw new Error(`The server answered ${response.status}.`)
  return (await response.json()) as Ready
}
