import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { type TestContext } from 'node:test'
import { cleanUp } from '../../test/cleanup.ts'
import { openCgroupIn } from './cgroup.ts'

/** The files that the kernel makes in each group. */
const plain = ['cgroup.procs', 'cgroup.kill', 'cgroup.subtree_control']
const limited = ['pids.max', 'memory.max', 'memory.oom.group', 'memory.swap.max']
const limits = { processesMax: 1_024, memoryBytesMax: 2 ** 30 }

/** Directories as the kernel shows them: ours, the group of all commands, and the group of one attempt. */
async function setup(t: TestContext, files: readonly string[]) {
  const own = await mkdtemp(join(tmpdir(), 'carillon-cgroup-'))
  cleanUp(t, () => rm(own, { recursive: true }))
  const all = join(own, 'commands')
  const attempt = join(all, 'attempt')
  await mkdir(attempt, { recursive: true })
  for (const directory of [own, all, attempt])
    for (const file of files) await writeFile(join(directory, file), '')
  return { own, all, attempt, textOf: (...path: string[]) => readFile(join(...path), 'utf8') }
}

test('the group of an attempt has limits for all of its processes together', async (t) => {
  const { own, all, attempt, textOf } = await setup(t, [...plain, ...limited])
  const group = openCgroupIn(own, 'commands')!.make('attempt', limits)!
  assert.equal(await textOf(attempt, 'pids.max'), '1024')
  assert.equal(await textOf(attempt, 'memory.max'), '1073741824')
  assert.equal(await textOf(attempt, 'memory.oom.group'), '1')
  assert.equal(await textOf(attempt, 'memory.swap.max'), '0')
  assert.equal(await textOf(all, 'pids.max'), '', 'all commands together have none')
  for (const directory of [own, all])
    assert.match(await textOf(directory, 'cgroup.subtree_control'), /^\+(pids|memory)/)
  assert(group.add(17))
  assert.equal(await textOf(attempt, 'cgroup.procs'), '17')
})

test('a server in the group that a service manager made for it has the groups of commands beside it', async (t) => {
  const { own, attempt, textOf } = await setup(t, [...plain, ...limited])
  openCgroupIn(join(own, 'carillon-server'), 'commands')!.make('attempt', limits)
  assert.equal(await textOf(attempt, 'pids.max'), '1024')
})

test('where the kernel gives no limits, groups are made without them', async (t) => {
  const { own, attempt, textOf } = await setup(t, plain)
  const group = openCgroupIn(own, 'commands')!.make('attempt', limits)!
  assert.deepEqual((await readdir(attempt)).toSorted(), plain.toSorted())
  group.kill()
  assert.equal(await textOf(attempt, 'cgroup.kill'), '1')
})

test('where groups cannot be killed as a whole, there are none', async (t) => {
  const { own } = await setup(t, ['cgroup.procs'])
  assert.equal(openCgroupIn(own, 'commands'), null)
})
