// Which workers could run an execution of a job, and the sentence for when none can.
import type { WantedRunner } from '../executors/kind.ts'
import { EXECUTOR_KINDS } from '../executors/list.ts'
import type { Execution, JobVersion } from '../jobs/job.ts'

/** The workers that may claim it. */
export function runnersOf({ execution, tenantId }: Pick<JobVersion, 'execution' | 'tenantId'>): WantedRunner {
  const { type: executor } = execution
  const wanted = EXECUTOR_KINDS[executor].runnersOf?.(execution, tenantId)
  return { executor, ...(wanted ?? { tenantId: null, handler: null, labels: [] }) }
}

/** Why no worker that is alive may take it. */
export function nobodyText(execution: Execution): string {
  return EXECUTOR_KINDS[execution.type].nobodyText(execution)
}
