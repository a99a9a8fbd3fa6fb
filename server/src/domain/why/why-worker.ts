// Which workers could run an execution of a job, and the sentence for when none can.

import type { RunningWorker } from '../executors/kind.ts'
import { EXECUTOR_KINDS } from '../executors/list.ts'
import type { Execution, JobVersion } from '../jobs/job.ts'

/** Whether the worker may claim it. */
export function canRun(worker: RunningWorker, call: Pick<JobVersion, 'execution' | 'tenantId'>): boolean {
  const { type } = call.execution
  if (!worker.executors.includes(type)) return false
  return EXECUTOR_KINDS[type].canRun?.(worker, call) ?? worker.tenantId === null
}

/** Why no worker that is alive may take it. */
export function nobodyText(execution: Execution): string {
  return EXECUTOR_KINDS[execution.type].nobodyText(execution)
}
