import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'node:test'
import { cleanUp } from '../../test/cleanup.ts'
import { findUser } from '../lib/system-users.ts'
import { createExecutors } from '../worker/executors/list.ts'
import { type CommandsUserDeps, chooseCommandsUser } from './commands-user.ts'

const jobs = { uid: 990, gid: 991 }
const nowhere = { commandsUser: null, dataDir: '/nowhere' }

function depsOf(changes: Partial<CommandsUserDeps> = {}): CommandsUserDeps {
  return { self: 0, findUser: async () => null, makeUser: async () => jobs, ...changes }
}

const refusal = (reason: string) => ({
  refusal: `Commands and bundles do not run on this server: ${reason}. Set CARILLON_COMMANDS_USER.`,
})

test('a server of root gives commands a user of their own, which it makes once', async () => {
  const asked: string[] = []
  const makeUser = async (name: string) => {
    asked.push(name)
    return jobs
  }
  assert.deepEqual(await chooseCommandsUser(nowhere, depsOf({ makeUser })), { user: jobs })
  assert.deepEqual(asked, ['carillon-jobs'])
  const found = depsOf({ makeUser, findUser: async () => ({ uid: 980, gid: 980 }) })
  assert.deepEqual(await chooseCommandsUser(nowhere, found), { user: { uid: 980, gid: 980 } })
  assert.equal(asked.length, 1)
})

test('a server of another user runs them as itself', async () => {
  assert.deepEqual(await chooseCommandsUser(nowhere, depsOf({ self: 1_000 })), { user: null })
  const chosen = { commandsUser: { uid: 1_000, gid: 1_000 }, dataDir: '/nowhere' }
  assert.deepEqual(await chooseCommandsUser(chosen, depsOf({ self: 1_000 })), { user: null })
  const other = { commandsUser: { uid: 1_001, gid: 1_001 }, dataDir: '/nowhere' }
  const reason = 'only a server of root can run them as another user'
  assert.deepEqual(await chooseCommandsUser(other, depsOf({ self: 1_000 })), refusal(reason))
})

test('they run as the chosen user, and never as root or as the owner of the database', async (t) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'carillon-user-'))
  cleanUp(t, () => rm(dataDir, { recursive: true }))
  const named = { commandsUser: { name: 'batch' }, dataDir }
  assert.deepEqual(await chooseCommandsUser(named, depsOf({ findUser: async () => jobs })), { user: jobs })
  const unknown = refusal('there is no user of the name in CARILLON_COMMANDS_USER')
  assert.deepEqual(await chooseCommandsUser(named, depsOf()), unknown)
  const alias = depsOf({ findUser: async () => ({ uid: 0, gid: 0 }) })
  assert.deepEqual(await chooseCommandsUser(named, alias), refusal('they do not run as root'))
  await mkdir(join(dataDir, 'pg'))
  const { uid, gid } = await stat(join(dataDir, 'pg'))
  const owner = uid === 0 ? { uid: 0, gid: 5 } : { uid, gid }
  const found = await chooseCommandsUser({ commandsUser: owner, dataDir }, depsOf())
  const reason = uid === 0 ? 'they do not run as root' : 'their user owns the database'
  assert.deepEqual(found, refusal(reason))
})

test('where no user can be made nothing runs, and each attempt says why', async () => {
  const makeUser = async () => {
    throw new Error('no useradd; no adduser')
  }
  const chosen = await chooseCommandsUser(nowhere, depsOf({ makeUser }))
  const expected = refusal('the user carillon-jobs could not be made (no useradd; no adduser)')
  assert.deepEqual(chosen, expected)
  const settings = {
    ...{
      dataDir: '/nowhere',
      artifacts: true,
      artifactsDir: null,
      artifactCpuSeconds: 1,
      artifactMemoryMb: 64,
    },
    shellCommands: [{ path: '/bin/true', env: [] }],
  }
  const executors = await createExecutors({ settings, place: { runAs: chosen } } as never)
  assert.deepEqual(Object.keys(executors).toSorted(), ['artifact', 'shell'])
  for (const executor of Object.values(executors)) {
    const { error } = await executor.run({} as never, {} as never)
    assert.deepEqual(error, { type: 'TARGET_FORBIDDEN', message: expected.refusal })
  }
})

test('a user is found by the name that the system has for it', async () => {
  assert.deepEqual(await findUser('root'), { uid: 0, gid: 0 })
  assert.equal(await findUser('carillon-no-such-user'), null)
})
