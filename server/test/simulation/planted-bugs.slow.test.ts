// Proves the checker: with a bug planted between the servers and the store it must go red, and say which invariant.
import assert from 'node:assert/strict'
import test from 'node:test'
import type { JobState, JobWrite } from '../../src/domain/jobs/job-change.ts'
import { KeyCounts, type WaitingJob } from '../../src/domain/queue/release.ts'
import { UuidV7 } from '../../src/lib/id.ts'
import type { Maintenance } from '../../src/ports/maintenance.ts'
import type { Claimed, ClaimOrder } from '../../src/ports/queue.ts'
import type { FireAnswer, FiredAndClaimed, SlotToFire } from '../../src/ports/slots.ts'
import { SeededRandom } from '../virtual-world.ts'
import { everySo, findBroken, findViolations } from './find-broken.ts'
import type { Caller } from './ports.ts'
import type { Tables } from './world.ts'

test('without a bug the checker finds nothing', async () => {
  assert.deepEqual(await findBroken(() => (_name, method, args) => method(...args)), new Set())
})

test('a fire that is applied twice is found', async () => {
  const broken = await findBroken(({ store }) => {
    const ids = new UuidV7(() => store.now(), new SeededRandom(1))
    const isDue = everySo(50)
    return async (name, method, args) => {
      const answers = await method(...args)
      if (!isFire(name) || !isDue()) return answers
      const unfired = answersOf(answers).map(({ jobId }) => jobId)
      const twice = (args[0] as SlotToFire[]).find(({ jobId }) => !unfired.includes(jobId))
      if (twice !== undefined) store.enqueue({ ...twice, executionId: ids.nextBatch() }, twice)
      return answers
    }
  })
  assert.ok(broken.has('I3'), `only ${[...broken]}`)
})

test('a finish that is dropped silently is found', async () => {
  const broken = await findBroken(() => {
    const isDue = everySo(50)
    const answer = { missing: [], cancelled: [], left: [] }
    const isSome = (args: unknown[]) => (args.at(-1) as unknown[]).length > 0
    return async (name, method, args) =>
      /^queue\.finish/.test(name) && isSome(args) && isDue() ? answer : method(...args)
  })
  // Nothing gets stuck by it: maintenance ends executions that nothing else ends. But then it is called again for no
  // reason.
  assert.ok(broken.has('I15'), `only ${[...broken]}`)
})

test('a word of a target that is taken and not written is found', async () => {
  const broken = await findBroken(() => {
    const isDue = everySo(2)
    const answer = { refused: [], cancelled: [] }
    return async (name, method, args) => (name === 'attempts.report' && isDue() ? answer : method(...args))
  })
  assert.ok(broken.has('I22'), `only ${[...broken]}`)
})

test('a word of a target that is refused though it came in time is found', async () => {
  const broken = await findBroken(() => {
    const isDue = everySo(5)
    return async (name, method, args) => (name === 'attempts.find' && isDue() ? [] : method(...args))
  })
  assert.ok(broken.has('I13'), `only ${[...broken]}`)
})

test('an attempt that is timed out before its time is found', async () => {
  const broken = await findBroken(({ store }) => async (name, method, args) => {
    if (name === 'maintenance.findOverdue') {
      const awaiting = [...store.live.values()].filter(({ state }) => state === 'awaiting')
      for (const row of awaiting.slice(0, 1)) store.changeLive(row, { deadline: store.now() })
    }
    return method(...args)
  })
  assert.ok(broken.has('I5'), `only ${[...broken]}`)
})

test('a claim that is handed to two workers is found', async () => {
  const broken = await findBroken(() => {
    const isDue = everySo(50)
    let last: { workerId: string; claimed: Claimed } | null = null
    return async (name, method, args) => {
      const answer = await method(...args)
      if (name !== 'queue.claim') return answer
      const { workerId } = args[0] as ClaimOrder
      const { batches, live } = answer as Claimed
      if (last !== null && last.workerId !== workerId) {
        const both = { batches: [...batches, ...last.claimed.batches], live: [...live, ...last.claimed.live] }
        last = null
        return both
      }
      if (isDue()) last = { workerId, claimed: structuredClone({ batches, live }) }
      return answer
    }
  })
  assert.ok(broken.has('I15'), `only ${[...broken]}`)
})

test('a slot that fires while its job is paused is found', async () => {
  const broken = await findBroken(({ store }) => async (name, method, args) => {
    if (!isFire(name)) return method(...args)
    const jobs = (args[0] as SlotToFire[]).map(({ jobId }) => store.jobs.get(jobId)!)
    const paused = jobs.map(({ cursor }) => cursor).filter(({ status }) => status === 'PAUSED')
    for (const cursor of paused) store.changeCursor(cursor, { status: 'ACTIVE' })
    const answers = method(...args)
    for (const cursor of paused) store.changeCursor(cursor, { status: 'PAUSED' })
    return answers
  })
  assert.ok(broken.has('I7'), `only ${[...broken]}`)
})

test('a change of a job that loses the slots it stops is found', async () => {
  const broken = await findBroken((tables) => {
    tamperWithChanges(tables, (_state, write) => ({ ...write, skips: [] }))
    return (_name, method, args) => method(...args)
  })
  assert.ok(broken.has('I1'), `only ${[...broken]}`)
})

test('a change of a job that does not say how far it decided is found', async () => {
  const broken = await findBroken((tables) => {
    tamperWithChanges(tables, ({ decidedTo }, write) => ({ ...write, decidedTo }))
    return (_name, method, args) => method(...args)
  })
  assert.ok(broken.has('I3'), `only ${[...broken]}`)
})

test('a delete that leaves executions behind is found', async () => {
  // Some jobs have executions that wait when they are deleted.
  const enoughDeletes = { jobs: 60 }
  const broken = await findBroken((tables) => {
    tamperWithChanges(tables, (_state, write) => ({ ...write, cancelsPending: false }))
    return (_name, method, args) => method(...args)
  }, enoughDeletes)
  assert.ok(broken.has('I16'), `only ${[...broken]}`)
})

test('a release that does not count the executions in progress is found', async () => {
  const bug: Caller = async (name, method, args) => {
    if (name !== 'maintenance.release') return method(...args)
    const [jobIds, decide] = args as Parameters<Maintenance['release']>
    return method(jobIds, (job: WaitingJob) => decide({ ...job, underWay: 0 }, new KeyCounts()))
  }
  // Enough jobs that some with the same key meet.
  const violations = await findViolations(() => bug, { jobs: 300 })
  const said = violations.filter(({ invariant }) => invariant === 'I20').map(({ what }) => what)
  assert.ok(
    said.some((what) => / are under way, of at most /.test(what)),
    'the limit of a job',
  )
  assert.ok(
    said.some((what) => / hold the key |^the key /.test(what)),
    'the limit of a key',
  )
})

test('a cancelled execution that ends as its worker says is found', async () => {
  const broken = await findBroken(({ store }) => async (name, method, args) => {
    if (/^queue\.finish/.test(name)) {
      for (const { cancels } of store.batches.values()) cancels.clear()
      for (const row of store.live.values()) Object.assign(row, { cancelledAt: null, cancelMessage: null })
    }
    return method(...args)
  })
  assert.ok(broken.has('I16'), `only ${[...broken]}`)
})

function tamperWithChanges({ jobs }: Tables, bug: (state: JobState, write: JobWrite) => JobWrite): void {
  const change = jobs.change.bind(jobs)
  jobs.change = (target, decide) =>
    change(target, (state) => {
      const write = decide(state)
      return write === null ? null : bug(state, write)
    })
}

/** For a worker, or not. */
const isFire = (name: string) => name === 'slots.fire' || name === 'slots.fireAndClaim'

function answersOf(answer: unknown): FireAnswer[] {
  return Array.isArray(answer) ? answer : (answer as FiredAndClaimed).answers
}
