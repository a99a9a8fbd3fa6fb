// The facts that the server reports: its version, its roles, and whether it can do its work.
import type { Ready } from '@carillon/contract/health.ts'
import { useQuery } from '@tanstack/react-query'
import { Card, Facts, PlainTable, Waiting } from '../../components/page.tsx'
import { Status } from '../../components/status.tsx'

const everyMs = 10_000
const askMsMax = 10_000

export function ServerFacts() {
  const found = useQuery({ queryKey: ['/readyz', {}], queryFn: readReady, refetchInterval: everyMs })
  if (found.data === undefined) return <Waiting found={found} canRetry />
  const { status, version, roles, checks } = found.data
  const isReady = status === 'ready'
  return (
    <div className="grid-2">
      <Card title="Server">
        <Facts
          facts={{
            State: <Status status={isReady ? 'ACTIVE' : 'FAILED'} label={isReady ? 'ready' : 'not ready'} />,
            Version: version,
            'Roles of this process': roles.join(', '),
            Address: location.origin,
          }}
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
        <PlainTable heads={['Requirement', 'Condition']}>
          {Object.entries(checks).map(([name, text]) => (
            <tr key={name}>
              <td>{name}</td>
              <td>
                <Status status={text === 'ok' ? 'SUCCEEDED' : 'FAILED'} label={text} />
              </td>
            </tr>
          ))}
        </PlainTable>
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
