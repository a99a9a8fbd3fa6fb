// The executions that an execution ran after, in wire format.
import type { Parent } from '@carillon/contract/graph-run.ts'
import { jsonOrText } from '../../lib/json-or-text.ts'
import type { ParentResult } from '../../ports/graph-runs.ts'

export function toParents(parents: readonly ParentResult[]): Parent[] {
  return parents.map(({ jobId, jobKey, executionId, status, result }) => ({
    job_id: jobId,
    job_key: jobKey,
    execution_id: executionId,
    status,
    ...(result === null ? {} : { result: jsonOrText(result) }),
  }))
}
