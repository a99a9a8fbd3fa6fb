// Proves the checker of graphs: with a bug planted in the code that steps runs it must go red, and name the invariant.
import assert from 'node:assert/strict'
import test from 'node:test'
import { isNodeEnded } from '../../src/domain/graphs/graph-run.ts'
import { rankOf } from '../../src/domain/queue/rank.ts'
import type { GraphRunRow } from '../../testing/memory-store/rows.ts'
import type { MemoryStore } from '../../testing/memory-store/store.ts'
import { everySo, findBroken as findBrokenIn } from './find-broken.ts'
import type { Caller } from './ports.ts'
import type { Tables } from './world.ts'

/** Few jobs and many graphs. */
const findBroken = (bug: (tables: Tables) => Caller) => findBrokenIn(bug, { jobs: 4, graphs: 4, minutes: 10 })

test('without a bug the checker finds nothing in graphs', async () => {
  assert.deepEqual(await findBroken(() => (_name, method, args) => method(...args)), new Set())
})

/** A caller that does something else around every so many steps of runs. */
function aroundSteps(
  many: number,
  around: (runIds: readonly string[], step: () => Promise<unknown>) => Promise<unknown>,
): Caller {
  const isDue = everySo(many)
  return (name, method, args) => {
    const step = () => method(...args)
    return name === 'runSteps.step' && isDue() ? around(args[0] as string[], step) : step()
  }
}

test('a fan-in that goes with the first of its parents is found', async () => {
  const broken = await findBroken(({ store }) =>
    aroundSteps(5, async (runIds, step) => {
      const answer = await step()
      for (const runId of runIds) letGoEarly(store, store.graphRuns.get(runId))
      return answer
    }),
  )
  assert.ok(broken.has('I19'), `only ${[...broken]}`)
})

/** The first node that has a parent that has ended and one that has not. */
function letGoEarly(store: MemoryStore, run: GraphRunRow | undefined): void {
  const place = run?.states.findIndex((state, at) => {
    const parents = run.graph.parentsOf(at).map(({ parent }) => isNodeEnded(run.states[parent]!))
    return state === 'blocked' && parents.includes(true) && parents.includes(false)
  })
  if (run === undefined || place === undefined || place === -1) return
  const row = store.live.get(run.graph.plan.nodes[place]!.executionId!)!
  run.states[place] = 'going'
  store.changeLive(row, { state: 'ready', enqueuedAt: store.now(), rank: rankOf(store.now(), row.priority) })
}

test('a step that takes notes away without having read them is found', async () => {
  const broken = await findBroken(({ store }) =>
    aroundSteps(20, (runIds, step) => {
      for (const runId of runIds) if (store.graphRuns.has(runId)) store.runNotes.delete(runId)
      return step()
    }),
  )
  // The run stays open for ever.
  assert.ok(broken.has('I14'), `only ${[...broken]}`)
})

test('a step that reads notes and leaves them is found', async () => {
  const broken = await findBroken(({ store }) =>
    aroundSteps(5, async (runIds, step) => {
      const notes = runIds.map((runId) => [runId, store.runNotes.get(runId) ?? []] as const)
      const answer = await step()
      for (const [runId, read] of notes) for (const note of read) store.addRunNote({ ...note, runId })
      return answer
    }),
  )
  // A reader that sees a root twice takes it for one that runs alone: other executions of the root do not wait for this
  // run, or it is never stepped again.
  assert.ok(broken.has('I20') || broken.has('I14'), `only ${[...broken]}`)
})

test('a skipped node that is not recorded is found', async () => {
  const broken = await findBroken(({ store }) => {
    const add = store.log.add.bind(store.log)
    const isDue = everySo(20)
    store.log.add = (row) => {
      if (row.outcome !== 'skipped' || !isDue()) add(row)
    }
    return (_name, method, args) => method(...args)
  })
  assert.ok(broken.has('I19'), `only ${[...broken]}`)
})

test('a run that does not free its root at its end, and one that frees it too soon, are found', async () => {
  const kept = await findBroken(({ store }) => {
    const free = store.deleteRunRoot.bind(store)
    const isDue = everySo(30)
    store.deleteRunRoot = (root) => {
      if (!isDue()) free(root)
    }
    return (_name, method, args) => method(...args)
  })
  assert.ok(kept.has('I14'), `only ${[...kept]}`)
  const freed = await findBroken(({ store }) =>
    aroundSteps(3, async (_runIds, step) => {
      for (const roots of [...store.runRoots.values()])
        for (const root of [...roots.values()]) store.deleteRunRoot(root)
      return step()
    }),
  )
  assert.ok(freed.has('I20'), `only ${[...freed]}`)
})

test('a cancelled run that goes on is found', async () => {
  const broken = await findBroken(({ store }) =>
    aroundSteps(1, (runIds, step) => {
      for (const runId of runIds) {
        const run = store.graphRuns.get(runId)
        if (run?.status === 'CANCELLING') run.status = 'RUNNING'
      }
      return step()
    }),
  )
  assert.ok(broken.has('I19') || broken.has('I16'), `only ${[...broken]}`)
})
