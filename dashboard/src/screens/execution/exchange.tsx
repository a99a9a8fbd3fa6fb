// The request and the response. Both are shown as text only, regardless of their content.
import type { Attempt, Execution } from '@carillon/contract/execution.ts'
import { EXECUTOR_FACTS, fieldsOf, targetOf } from '@carillon/contract/executors/list.ts'
import type { JobDetails } from '@carillon/contract/job.ts'
import { useState } from 'react'
import { CodeBlock, JsonBlock } from '../../components/code-block.tsx'
import { Select } from '../../components/field.tsx'
import { Card, Facts } from '../../components/page.tsx'
import { Sentence } from '../../components/sentence.tsx'
import { Status } from '../../components/status.tsx'
import { formatBytes, formatDuration, shortId } from '../../lib/format.ts'

export function RequestCard({ execution, job }: { execution: Execution; job: JobDetails | undefined }) {
  const headers = headersOf(execution, job)
  return (
    <Card title="Request" aside={<span className="dim">{execution.executor}</span>}>
      <Facts facts={{ [targetName(execution)]: <code>{targetText(execution, job)}</code> }} />
      {headers !== '' && (
        <details>
          <summary className="dim">Headers</summary>
          <CodeBlock code={headers} label="Headers of the request" />
        </details>
      )}
      {'payload' in execution ? (
        <JsonBlock value={execution.payload} label="Payload" />
      ) : (
        <p className="dim">No payload.</p>
      )}
      {execution.checkpoint !== undefined && (
        <>
          <h3>Checkpoint for the next attempt</h3>
          <JsonBlock value={execution.checkpoint} label="Checkpoint" />
        </>
      )}
      {execution.parents.length > 0 && (
        <details>
          <summary className="dim">Results of the executions that it depends on</summary>
          <JsonBlock value={execution.parents} label="Parents" />
        </details>
      )}
    </Card>
  )
}

function targetName({ executor, callback_url: url }: Execution): string {
  const { target } = EXECUTOR_FACTS[executor]
  const [, field] = fieldsOf(executor).find(([name]) => name === target)!
  return url === null ? field.input.label : 'Calls'
}

function targetText(execution: Execution, job: JobDetails | undefined): string {
  const method = execution.callback_url === null ? '' : `${job?.execution.method ?? ''} `
  return `${method}${targetOf(execution) ?? '–'}`.trim()
}

// Headers of the job are shown by name only: their values can be written, not read.
function headersOf(execution: Execution, job: JobDetails | undefined): string {
  if (execution.callback_url === null) return ''
  const own = Object.keys(job?.execution.headers ?? {}).map((name) => `${name}: (not shown)`)
  return [
    `X-Idempotency-Key: ${execution.idempotency_key}`,
    `X-Execution-ID: ${execution.execution_id}`,
    `X-Job-ID: ${execution.job_id}`,
    `X-Attempt-Number: ${Math.max(1, execution.attempt_number)}`,
    `X-Scheduled-Time: ${execution.scheduled_time}`,
    ...own,
  ].join('\n')
}

/** Of the latest attempt that ended, or of an earlier one. */
export function ResponseCard({ execution }: { execution: Execution }) {
  const { attempts } = execution
  const [chosen, setChosen] = useState<number | null>(null)
  const attempt = attempts.find(({ attempt_number }) => attempt_number === chosen) ?? attempts.at(-1)
  if (attempt === undefined) {
    return (
      <Card title="Response">
        <p className="dim">No attempt has ended yet.</p>
      </Card>
    )
  }
  const { http_status, error, response_preview, worker_id, duration_ms, outcome, usage } = attempt
  const picker = attempts.length > 1 && (
    <Select
      aria-label="Of which attempt"
      value={attempt.attempt_number}
      options={attempts.map(({ attempt_number: value }) => ({ value, name: `attempt ${value}` }))}
      onText={(number) => setChosen(Number(number))}
    />
  )
  return (
    <Card title="Response" aside={picker}>
      <Facts
        facts={{
          Outcome: <Status status={outcome} />,
          'HTTP status': http_status,
          Took: formatDuration(duration_ms),
          ...usageFacts(usage),
          'Ran on': worker_id === null ? '–' : <span title={worker_id}>worker {shortId(worker_id)}</span>,
        }}
      />
      {error !== null && (
        <div className="error-box">
          <p>
            <strong>{error.type}</strong> <Sentence text={error.message} />
          </p>
        </div>
      )}
      {response_preview === null || response_preview === '' ? (
        <p className="dim">Empty response body.</p>
      ) : (
        <CodeBlock code={prettyOf(response_preview)} label="The beginning of the answer" />
      )}
    </Card>
  )
}

/** Only the parts that are known: a call uses no CPU time of ours, a command sends nothing that we count. */
function usageFacts(usage: Attempt['usage']): Record<string, string> {
  const { cpu_ms = null, bytes_sent = null, bytes_received = null } = usage ?? {}
  return {
    ...(cpu_ms !== null && { 'CPU time': formatDuration(cpu_ms) }),
    ...(bytes_sent !== null && { Sent: formatBytes(bytes_sent) }),
    ...(bytes_received !== null && { Received: formatBytes(bytes_received) }),
  }
}

/** Indented when it is whole JSON, else as it is: the preview may be cut. */
function prettyOf(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
