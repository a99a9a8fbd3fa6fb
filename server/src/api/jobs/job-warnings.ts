// Warnings in the answer to a write of a job: it was accepted, and will probably not do the thing it was written for.
import { EXECUTOR_KINDS } from '../../domain/executors/list.ts'
import type { JobVersion } from '../../domain/jobs/job.ts'
import { nobodyText, runnersOf } from '../../domain/why/why-worker.ts'
import type { WriteStores } from '../../ports/requests.ts'
import { warnOfGraph } from './validate-dependencies.ts'

type Stores = Pick<WriteStores, 'graphRuns' | 'artifacts' | 'workers'>
type WrittenJob = Pick<JobVersion, 'tenantId' | 'jobId' | 'schedule' | 'dependsOn' | 'execution'>

/** Of a job as it is after a write, for the answer to that; nothing if there is nothing to say. */
export async function warningsOf(
  stores: Stores,
  job: WrittenJob,
  { isNew }: { isNew: boolean },
): Promise<{ warnings?: string[] }> {
  // A new job has no dependents, so of most there is no graph to look at.
  const ofGraph = isNew && job.dependsOn.length === 0 ? [] : await warnOfGraph(stores.graphRuns, job)
  const warnings = [
    ...ofGraph,
    ...(await warnOfExecutor(stores, job)),
    ...(await warnOfArtifact(stores, job)),
  ]
  return warnings.length === 0 ? {} : { warnings }
}

/** Only executors that an operator must allow on a server: handlers are often deployed after their jobs. */
async function warnOfExecutor({ workers }: Stores, job: WrittenJob): Promise<string[]> {
  const { execution } = job
  const { route, isolates } = EXECUTOR_KINDS[execution.type]
  if (!isolates || route === undefined) return []
  if (await workers.hasRunner(runnersOf(job))) return []
  return [`At present ${nobodyText(execution)}: executions of this job wait until one is up.`]
}

async function warnOfArtifact({ artifacts }: Stores, job: WrittenJob): Promise<string[]> {
  const { execution, tenantId } = job
  if (execution.type !== 'artifact') return []
  const { artifact_id: id, sha256: wanted } = execution
  const found = await artifacts.get(tenantId, id)
  if (found === null) {
    return [
      `There is no artifact ${id}: until it is uploaded, executions of this job fail, unless the workers have it in CARILLON_ARTIFACTS_DIR.`,
    ]
  }
  if (wanted === undefined || wanted === found.sha256) return []
  return [
    `The artifact ${id} has the checksum ${found.sha256}, and the job wants ${wanted}: executions of this job fail.`,
  ]
}
