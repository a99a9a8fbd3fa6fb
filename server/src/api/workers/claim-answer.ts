// Decides how many claimed executions go into one answer, with payloads, checkpoints, and the results of their parents.
// The rest is handed back for the next claim, so no worker ever gets an execution without its data.
import type { Parent } from '@carillon/contract/graph-run.ts'
import { runsAfterOthers } from '../../domain/queue/execution.ts'
import { type GraphRuns, parentsPerLook } from '../../ports/graph-runs.ts'
import type { Definition } from '../../ports/queue.ts'
import { toParents } from '../executions/parent-view.ts'
import type { OneClaimed } from './claimed-executions.ts'

export interface ClaimAnswer {
  taken: OneClaimed[]
  left: OneClaimed[]
  /** By execution; executions without parents are not in it. */
  parents: ReadonlyMap<string, Parent[]>
}

const answerBytesMax = 8 * 1024 * 1024

/** The first is taken however large it is. */
export async function fillAnswer(
  graphRuns: Pick<GraphRuns, 'parentsOf'>,
  all: readonly OneClaimed[],
  definitionOf: (one: OneClaimed) => Definition | undefined,
): Promise<ClaimAnswer> {
  const parents = new Map<string, Parent[]>()
  let asked = 0
  let bytes = 0
  for (const [at, one] of all.entries()) {
    if (at >= asked && runsAfterOthers(one)) {
      asked = at + parentsPerLook
      const ids = all
        .slice(at, asked)
        .filter(runsAfterOthers)
        .map(({ executionId }) => executionId)
      for (const [id, found] of await graphRuns.parentsOf(ids)) parents.set(id, toParents(found))
    }
    const payload = 'payloadOverride' in one ? one.payloadOverride : definitionOf(one)!.execution.payload
    bytes += sizeOf(payload) + sizeOf(one.checkpoint) + sizeOf(parents.get(one.executionId))
    if (at > 0 && bytes > answerBytesMax) return { taken: all.slice(0, at), left: all.slice(at), parents }
  }
  return { taken: [...all], left: [], parents }
}

function sizeOf(value: unknown): number {
  return value === undefined ? 0 : JSON.stringify(value).length
}
