// Which workers could run an execution of a job, and the sentence for when none can.
import type { Execution, JobVersion } from '../jobs/job.ts'
import type { Worker } from '../queue/worker.ts'
import { shorten } from './why-text.ts'

type Call = Pick<JobVersion, 'execution' | 'tenantId'>

/** Whether the worker may claim it. */
export function canRun(
  worker: Pick<Worker, 'tenantId' | 'executors' | 'handlers' | 'labels'>,
  { execution, tenantId }: Call,
): boolean {
  if (!worker.executors.includes(execution.type)) return false
  if (execution.type !== 'worker') return worker.tenantId === null
  const isOwn = worker.tenantId === null || worker.tenantId === tenantId
  const hasLabels = execution.labels.every((label) => worker.labels.includes(label))
  return isOwn && hasLabels && worker.handlers.includes(execution.handler)
}

/** Why no worker that is alive may take it. */
export function nobodyText(execution: Execution): string {
  switch (execution.type) {
    case 'http':
      return 'no worker is registered'
    case 'worker': {
      const { handler, labels } = execution
      const wanted = labels.length === 0 ? '' : ` with the labels ${shorten(labels.join(', '))}`
      return `no worker runs the handler ${handler}${wanted}`
    }
    case 'shell':
      return 'no worker that may run shell commands is up; CARILLON_SHELL_COMMANDS allows them'
    case 'artifact':
      return 'no worker that may run artifacts is up; CARILLON_ARTIFACTS=on allows them'
  }
}
