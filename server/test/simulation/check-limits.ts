// At no moment do more executions of a job run than its limit allows, nor more of all jobs that share a key, each from
// its first call to its end. A superseded execution made way for a slot that came later.
import { nameOfKey, supersededMessage } from '../../src/domain/queue/release.ts'
import { type EpochMs, toRfc3339 } from '../../src/lib/time/epoch.ts'
import { isSuperseded } from './check-changes.ts'
import { type CheckedJob, type Context, isOfSlot, type RecordedExecution } from './checker.ts'
import { isReadTwice } from './clock-steps.ts'

export function checkLimits(
  context: Context,
  jobs: readonly CheckedJob[],
  graphJobs: readonly CheckedJob[],
): void {
  for (const checked of jobs) {
    const { version, executions } = checked
    const { overlapPolicy, concurrencyLimit } = version
    if (overlapPolicy === 'ALLOW' && concurrencyLimit !== null)
      checkAtOnce(context, `"${version.name}"`, concurrencyLimit, executions)
    for (const one of executions.filter(isSuperseded)) checkSuperseded(context, checked, one)
  }
  const keyed = [...jobs, ...graphJobs].filter(({ version }) => version.concurrencyKey !== null)
  const byKey = Map.groupBy(keyed, ({ version }) => nameOfKey(version.tenantId, version.concurrencyKey!.key))
  for (const [name, members] of byKey) {
    const { limit } = members[0]!.version.concurrencyKey!
    const executions = members.flatMap((member) => member.executions)
    checkAtOnce(context, `the key "${name}"`, limit, executions)
  }
}

function checkAtOnce(
  { say, evidence }: Context,
  name: string,
  limit: number,
  executions: readonly RecordedExecution[],
): void {
  const steps: { at: EpochMs; by: number }[] = []
  for (const { calls, endedAt } of executions) {
    const from = calls[0]?.at
    // A call of a server that was taken for dead may come when all is over.
    if (from !== undefined && from < endedAt) steps.push({ at: from, by: 1 }, { at: endedAt, by: -1 })
  }
  steps.sort((a, b) => a.at - b.at || a.by - b.by)
  let running = 0
  for (const { at, by } of steps) {
    running += by
    if (running > limit && !isReadTwice(evidence, at))
      say('I20', `${name}: ${running} run at ${toRfc3339(at)}, of at most ${limit}`)
  }
}

function checkSuperseded({ say }: Context, { version, job }: CheckedJob, one: RecordedExecution): void {
  const { executionId, slot, cancelMessage } = one
  if (version.overlapPolicy !== 'CANCEL_RUNNING')
    say('I11', `${executionId} of "${version.name}" made way for another slot`)
  const later = [...job.slots.values()].some(
    (row) =>
      (row.slot > slot || !isOfSlot(one)) &&
      row.reason === null &&
      cancelMessage === supersededMessage(row.slot),
  )
  if (!later) say('I11', `${executionId} made way for a slot that does not run: ${cancelMessage}`)
}
