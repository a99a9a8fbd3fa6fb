// A graph of jobs and its runs, written in letters: the common steps of the graph run suites.
import assert from 'node:assert/strict'
import type { Dependency, DependencyRule } from '../../../src/domain/graphs/graph.ts'
import { type NodeState, runIdOfSlot } from '../../../src/domain/graphs/graph-run.ts'
import { sharedLane } from '../../../src/domain/queue/lane.ts'
import { defaultTenantId } from '../../../src/domain/tenants/tenant.ts'
import type { RunNodeView, RunView, Stepped } from '../../../src/ports/graph-runs.ts'
import type { NewJob } from '../../../src/ports/jobs.ts'
import type { ClaimedLive, Ending } from '../../../src/ports/queue.ts'
import type { SlotToFire } from '../../../src/ports/slots.ts'
import { change, type Decision } from '../jobs/changes.ts'
import { allHeld, type Scenario } from '../scenario.ts'

export type End = 'succeeded' | 'failed' | 'timed_out'
export type GraphScene = Awaited<ReturnType<typeof makeGraph>>

/**
 * `a b>a c>a d>b:failure,c`: b and c run after a, and d when b has failed and c has succeeded. Its jobs are named so.
 * They allow overlaps, unless `changes` say otherwise, which are by name.
 */
export async function makeGraph<S extends Scenario>(
  s: S,
  text: string,
  changes: Record<string, Partial<NewJob>> = {},
) {
  const jobs = new Map<string, NewJob>()
  for (const { name, dependsOn } of parseGraph(text, jobs)) {
    const wanted: Partial<NewJob> = { name, overlapPolicy: 'ALLOW', dependsOn: dependsOn() }
    const slotAt = wanted.dependsOn!.length > 0 ? { slotAt: null } : {}
    jobs.set(name, await s.createJob({ ...wanted, ...slotAt, ...changes[name] }))
  }
  const names = new Map(jobs.entries().map(([name, { jobId }]) => [jobId, name]))
  const workerId = await s.addWorker()
  const claimed = new Map<string, ClaimedLive>()
  const tools = { newExecutionId: () => s.ids.nextBatch(), laneOf: () => sharedLane }

  const jobOf = (name: string): NewJob => {
    const job = jobs.get(name)
    assert(job !== undefined, `there is no job ${name}`)
    return job
  }

  /** Starts a run by a trigger; its id. */
  async function trigger(name: string, changes: { payloadOverride?: unknown } = {}): Promise<string> {
    const { tenantId, jobId } = jobOf(name)
    const executionId = s.ids.nextBatch()
    const order = { tenantId, jobId, executionId, lane: sharedLane, ...changes }
    const outcome = await s.jobs.trigger(order)
    assert.equal(outcome.kind === 'triggered' && outcome.runId, executionId)
    return executionId
  }

  /** The run that a root fires into, and the slot as the scheduler would fire it. */
  async function slotOf(name: string, second: number, changes: Partial<SlotToFire> = {}) {
    const { tenantId, jobId } = jobOf(name)
    const graph = await s.graphRuns.graphOf(tenantId, jobId)
    const graphId = graph!.jobs.map((job) => job.jobId).toSorted()[0]!
    const runId = runIdOfSlot(graphId, s.at(second))
    return s.slotOf(jobOf(name), second, { graphId, runId, ownRow: true, ...changes })
  }

  /** Starts a run by a slot, or fires into it; its id. */
  async function fire(name: string, second: number, changes: Partial<SlotToFire> = {}): Promise<string> {
    const item = await slotOf(name, second, changes)
    assert.deepEqual(await s.slots.fire([item]), [])
    return item.runId!
  }

  /** Advances all runs as far as they go; returns the total result. */
  async function step(): Promise<Omit<Stepped, 'settled'>> {
    const sum: Omit<Stepped, 'settled'> = { ready: 0, waiting: false, cancelled: false, over: [] }
    for (let rounds = 0; ; rounds++) {
      assert(rounds < 100, 'runs go on for ever')
      const runIds = await s.runSteps.findNoted(100, rounds === 0)
      const stepped = await s.runSteps.step(runIds, tools)
      sum.ready += stepped.ready
      sum.waiting ||= stepped.waiting
      sum.cancelled ||= stepped.cancelled
      sum.over.push(...stepped.over)
      if ((await s.runSteps.findNoted(1, false)).length === 0) return sum
    }
  }

  async function get(runId: string): Promise<RunView> {
    const run = await s.graphRuns.get(defaultTenantId, runId)
    assert(run !== null, `there is no run ${runId}`)
    return run
  }

  async function node(runId: string, name: string): Promise<RunNodeView> {
    const found = (await get(runId)).plan.find((one) => one.jobId === jobOf(name).jobId)
    assert(found !== undefined, `${name} is not in the run`)
    return found
  }

  /** The execution of a node. */
  async function executionOf(runId: string, name: string): Promise<string> {
    const { executionId } = await node(runId, name)
    assert(executionId !== null, `${name} has no execution`)
    return executionId
  }

  /** The states of the nodes of a run, by name. */
  async function states(runId: string): Promise<Record<string, NodeState>> {
    const { plan } = await get(runId)
    return Object.fromEntries(plan.map(({ jobId, state }) => [names.get(jobId)!, state]))
  }

  async function claimAll(): Promise<void> {
    const { batches, live } = await s.claim(workerId)
    assert.deepEqual(batches, [], 'a node is never in a batch')
    for (const one of live) claimed.set(one.executionId, one)
  }

  /** The executions that are claimed and have not ended, by name, in order. */
  async function running(): Promise<string[]> {
    await claimAll()
    return [...claimed.values()].map((one) => names.get(one.jobId)!).toSorted()
  }

  async function claim(runId: string, name: string): Promise<ClaimedLive> {
    const executionId = await executionOf(runId, name)
    if (!claimed.has(executionId)) await claimAll()
    const found = claimed.get(executionId)
    assert(found !== undefined, `${name} is not to be had`)
    return found
  }

  /** Runs the node and ends it so; the consequences are for the next step. */
  async function end(runId: string, name: string, how: End | Ending = 'succeeded'): Promise<void> {
    const one = await claim(runId, name)
    claimed.delete(one.executionId)
    const { executionId, fence, attempt } = one
    const ending = typeof how === 'string' ? endings(name)[how] : how
    assert(ending.kind !== 'running')
    const answer = await s.queue.finishLive(workerId, [{ executionId, fence, attempt, ending }])
    assert.deepEqual({ ...answer, cancelled: [] }, allHeld)
  }

  const tooSlow = { type: 'TIMEOUT', message: 'too slow' } as const
  const endings = (name: string): Record<End, Ending> => ({
    succeeded: s.succeeded({ preview: `result of ${name}` }),
    failed: s.failed(),
    timed_out: s.failed({ outcome: 'timed_out', error: tooSlow, httpStatus: null }),
  })

  /** The same, and all that comes of it. */
  async function finish(runId: string, name: string, how: End | Ending = 'succeeded') {
    await end(runId, name, how)
    return step()
  }

  /** A person cancels one execution. */
  async function cancelNode(runId: string, name: string): Promise<string> {
    const target = { tenantId: defaultTenantId, executionId: await executionOf(runId, name), message: 'no' }
    return (await s.control.cancel(target)).kind
  }

  const cancel = async (runId: string, message = 'stop') => {
    const outcome = await s.graphRuns.cancel({ tenantId: defaultTenantId, runId, message })
    return outcome.kind === 'finished' ? outcome : { kind: outcome.kind }
  }

  const resume = (runId: string) => s.graphRuns.resume({ tenantId: defaultTenantId, runId, ...tools })

  /** The dependencies of the job stay unless the change sets them. */
  const edit = (name: string, decide: Decision) => change(s, jobOf(name), decide)

  async function depend(
    name: string,
    decide: Decision,
    dependsOn: readonly Dependency[] = [],
  ): Promise<void> {
    const { tenantId, jobId } = jobOf(name)
    const outcome = await s.jobs.change({ tenantId, jobId, dependsOn }, decide)
    assert(typeof outcome === 'object' && !('kind' in outcome), JSON.stringify(outcome))
  }

  return {
    ...{ s, workerId, tools, jobOf, trigger, slotOf, fire, step, get, node, executionOf, states, running },
    ...{ claim, end, finish, cancelNode, cancel, resume, edit, depend },
  }
}

/** In the order in which they are written: each job after the jobs it depends on. */
function parseGraph(text: string, jobs: ReadonlyMap<string, NewJob>) {
  return text.split(' ').map((part) => {
    const [name, parents] = part.split('>') as [string, string | undefined]
    const dependsOn = (): Dependency[] =>
      (parents?.split(',') ?? []).map((one) => {
        const [parent, on = 'success'] = one.split(':') as [string, DependencyRule | undefined]
        return { jobId: jobs.get(parent)!.jobId, on }
      })
    return { name, dependsOn }
  })
}
