// Carries out one operation of a history on a store. Callbacks give their recorded answers, and must be called with the
// recorded arguments.
import assert from 'node:assert/strict'
import { type KeyCounts, planRelease, type WaitingJob } from '../../src/domain/queue/release.ts'
import { type Call, Consulted, isStores, type Operation, type Ports } from './history.ts'
import { answerLine, lineOf } from './lines.ts'

/** The answer as a line, and the answers to all operations of its callbacks. */
export async function carryOut(ports: Ports, operation: Operation): Promise<string[]> {
  const { port, method, args } = operation
  const lines: string[] = []
  const target = ports[port] as Record<string, (...args: unknown[]) => Promise<unknown>>
  try {
    const value = await target[method]!(...args.map((argument) => revive(argument, operation, lines)))
    return [answerLine(`${port}.${method}`, value), ...lines]
  } catch (error) {
    if (error instanceof assert.AssertionError) throw error
    // Each store has its own message for an impossible operation.
    return ['failed', ...lines]
  }
}

type Callback = (...asked: unknown[]) => unknown

function revive(argument: unknown, operation: Operation, lines: string[]): unknown {
  if (argument instanceof Consulted) return answerAs(argument, operation, lines)
  if (argument === null || typeof argument !== 'object') return argument
  const parts = Object.entries(argument)
  if (!parts.some(([, part]) => part instanceof Consulted)) return argument
  return Object.fromEntries(parts.map(([name, part]) => [name, revive(part, operation, lines)]))
}

/** Gives the recorded answer for the same subject; calls without a subject get the answers in order. */
function answerAs({ calls }: Consulted, { method }: Operation, lines: string[]): Callback {
  const left = [...calls]
  return (...asked) => {
    const at = left.findIndex((call) => subjectOf(call.asked) === subjectOf(asked))
    assert.notEqual(at, -1, `${method} asked about what nobody had asked about: ${lineOf(asked[0])}`)
    const [call] = left.splice(at, 1)
    // A caller that asks for a lane may ask again.
    if (typeof asked[0] === 'string') left.push(call!)
    checkAsked(method, asked, call!)
    const stores = asked.find(isStores)
    return stores === undefined ? say(call!) : repeat(stores, call!, lines)
  }
}

async function repeat(stores: Ports, call: Call, lines: string[]): Promise<unknown> {
  for (const operation of call.did) lines.push(...(await carryOut(stores, operation)))
  return say(call)
}

function say({ said, threw }: Call): unknown {
  if (threw) throw new Error('as it was recorded')
  return structuredClone(said)
}

function checkAsked(method: string, asked: readonly unknown[], call: Call): void {
  const [subject] = asked
  if (subject === null || typeof subject !== 'object' || isStores(subject)) return
  const recorded = pick(call.asked[0], Object.keys(subject))
  assert.equal(lineOf(inOrder(subject)), lineOf(inOrder(recorded)), `${method} asked another thing`)
  if (method === 'release') checkPlan(asked as [WaitingJob, KeyCounts], call.said)
}

/** Waiting executions are a set: a plan sorts them itself. */
function inOrder(subject: { waiting?: readonly unknown[] }): object {
  const { waiting } = subject
  return waiting === undefined ? subject : { ...subject, waiting: waiting.map(lineOf).toSorted() }
}

function subjectOf([subject]: readonly unknown[]): unknown {
  if (subject === null || typeof subject !== 'object') return subject ?? null
  const { jobId, operationId } = subject as { jobId?: string; operationId?: string }
  return jobId ?? operationId ?? null
}

/** The holders of a key are compared through the releases that they allow. */
function checkPlan([job, keys]: [WaitingJob, KeyCounts], said: unknown): void {
  const plan = planRelease(job, keys)
  assert.equal(lineOf(plan), lineOf(pick(said, Object.keys(plan))), `another plan for ${job.jobId}`)
}

function pick(value: unknown, names: readonly string[]): object {
  const all = value as Record<string, unknown>
  return Object.fromEntries(names.map((name) => [name, all[name]]))
}
