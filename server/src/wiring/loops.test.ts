import assert from 'node:assert/strict'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import test from 'node:test'
import { createVirtualWorld } from '../../test/virtual-world.ts'
import { openMemoryStore } from '../../testing/memory-store/open-memory-store.ts'
import { checkoutDir } from '../config/read.ts'
import { ROLES, type Role } from '../domain/role.ts'
import { Loop } from '../lib/loop.ts'
import type { WakeupTopic } from '../ports/wakeup.ts'
import { createLoopStarter, LOOPS, type LoopName, type LoopSpec } from './loops.ts'
import { type RoleDeps, startRoles } from './roles.ts'
import type { WorkerAssignment } from './worker.ts'

const file = join(checkoutDir, 'docs/internals/loops.md')
const specs: [string, LoopSpec][] = Object.entries(LOOPS)

/** The names of the loops that the wiring of a role starts. */
async function startedBy(role: Role, assignment: WorkerAssignment): Promise<Set<LoopName>> {
  const world = createVirtualWorld()
  const started = new Set<LoopName>()
  const { store: _, ...store } = openMemoryStore(world.clock)
  await using resources = new AsyncDisposableStack()
  const deps: RoleDeps = {
    config: { misfireAfterMs: 60_000, outageMs: 60_000 },
    world,
    store,
    leaseStore: store,
    wakeup: { send() {} },
    port: null,
    publicUrl: () => null,
    resources,
    startLoop(name) {
      started.add(name)
      const options = { name, idleMs: 1_000, step: async () => 'idle' as const, onFailure() {} }
      return resources.use(new Loop(world, options))
    },
  }
  await startRoles(deps, { roles: [role], createAssignment: () => assignment })
  return started
}

const http: WorkerAssignment = { kind: 'http', capacity: 1, executors: {} }
const commands: WorkerAssignment = { kind: 'commands', capacity: 1, executors: {} }

/** A scheduler stands in for the role history while no process has it. */
const isListedFor = (role: Role, name: string, listed: LoopSpec['role']): boolean =>
  listed === role || (role === 'scheduler' && listed === 'history' && name !== 'hold history role')

for (const role of ['scheduler', 'worker', 'history'] as const) {
  test(`the ${role} role starts every loop that is listed for it, and no other`, async () => {
    const started = (await startedBy(role, http)).union(await startedBy(role, commands))
    const listed = specs.filter(([name, spec]) => isListedFor(role, name, spec.role)).map(([name]) => name)
    assert.deepEqual([...started].toSorted(), listed.toSorted())
  })
}

test('a loop is woken by its own topics only, and not while it may not be', async () => {
  const world = createVirtualWorld()
  await using resources = new AsyncDisposableStack()
  const listeners = new Map<WakeupTopic, () => void>()
  const wakeup = { on: (topic: WakeupTopic, listener: () => void) => void listeners.set(topic, listener) }
  const startLoop = createLoopStarter({
    world,
    wakeup,
    resources,
    onFailure: ({ error }) => assert.fail(String(error)),
  })
  let steps = 0
  let mayWake = true
  const step = async () => {
    steps += 1
    return 'idle' as const
  }
  startLoop('refresh signing keys', step, { mayWake: () => mayWake })
  await world.advance(1)
  assert.deepEqual([...listeners.keys()], ['keys'])
  assert.equal(steps, 1)
  listeners.get('keys')!()
  await world.advance(1)
  assert.equal(steps, 2)
  mayWake = false
  listeners.get('keys')!()
  await world.advance(1)
  assert.equal(steps, 2)
  await world.advance(LOOPS['refresh signing keys'].everyMs)
  assert.equal(steps, 3, 'the poll needs no wake-up')
})

test('docs/internals/loops.md equals the list of loops', async () => {
  const text = render()
  if (process.env['UPDATE_DOCS'] === '1') {
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, text)
  }
  const hint = 'to write it anew: UPDATE_DOCS=1 npm test -- server/src/wiring/loops.test.ts'
  assert.equal(await readFile(file, 'utf8'), text, hint)
})

function render(): string {
  const lines = [
    '# Loops',
    '',
    '<!-- Rendered from server/src/wiring/loops.ts by its test. UPDATE_DOCS=1 npm test -- server/src/wiring/loops.test.ts -->',
    '',
    'A server works in loops: each calls its step again and again, at once while there is more to do, else after a wait. **Every** is the',
    'longest wait; a step may ask for a shorter one. A wake-up ends the wait: a hint that any process sends, safe to lose, since the next',
    'poll finds the same work. A step that fails is tried again, later each time, after 5 s at most (1 s for leases and the clock).',
    'The list is [loops.ts](../../server/src/wiring/loops.ts); a loop can be started only under a name in it.',
  ]
  for (const role of ['all', ...ROLES] as const) {
    const own = specs.filter(([, spec]) => spec.role === role)
    if (own.length === 0) continue
    lines.push('', role === 'all' ? '## In every process' : `## Role \`${role}\``, '')
    lines.push('| Loop | Every | Woken by | Duty |', '|---|---|---|---|')
    for (const [name, spec] of own)
      lines.push(`| ${name} | ${describeMs(spec.everyMs)} | ${wakers(spec)} | ${spec.does} |`)
  }
  return `${lines.join('\n')}\n`
}

function wakers({ wokenBy = [], wokenAt }: LoopSpec): string {
  const topics = wokenBy.map((topic) => `\`${topic}\``)
  return [...topics, ...(wokenAt === undefined ? [] : [`here: ${wokenAt}`])].join(', ')
}

function describeMs(ms: number): string {
  if (ms % 3_600_000 === 0) return `${ms / 3_600_000} h`
  if (ms % 60_000 === 0) return `${ms / 60_000} min`
  return ms % 1_000 === 0 ? `${ms / 1_000} s` : `${ms} ms`
}
