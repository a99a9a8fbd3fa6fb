import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { callOf, createListener, setupCommands, untilGone } from '../../../test/commands.ts'
import { CommandProcesses } from './attempt-processes.ts'
import { createShellExecutor } from './shell.ts'

/** `isGrouped`: with groups of the kernel, where this machine has them; else by the environment. */
async function setup(t: TestContext, { isGrouped = true } = {}) {
  const { deps, base, script } = await setupCommands(t)
  const processes = isGrouped ? deps.processes : new CommandProcesses(base, null)
  const listener = createListener()
  const run = async (text: string, changes: Partial<typeof deps> = {}) => {
    const path = await script('job.sh', text)
    const execution = { type: 'shell', command: path, args: [], env: {}, timeout_seconds: 60 } as const
    const executor = createShellExecutor({ ...deps, processes, ...changes }, [{ path, env: [] }])
    return executor.run(callOf(execution), listener.context)
  }
  return { base, processes, listener, run }
}

// It has left the process group and the session, its parent has ended, and it holds none of our pipes.
const leave = `setsid sh -c 'sh -c "echo \\$\\$; exec sleep 1000 >/dev/null 2>&1 </dev/null" & exit' &
wait`

for (const isGrouped of [true, false]) {
  const how = isGrouped ? 'as the machine can' : 'by the environment'
  test(`a process that left its group and session ends with its attempt, found ${how}`, async (t) => {
    const { run } = await setup(t, { isGrouped })
    const { preview, error } = await run(leave)
    assert.equal(error, null)
    await untilGone(Number(preview))
  })

  test(`processes that left their group end with the server, found ${how}`, async (t) => {
    const { run, base, listener } = await setup(t, { isGrouped })
    const ended = run(`${leave}; echo up; sleep 1000`)
    const pid = Number(await listener.says(/^\d+$/))
    await listener.says(/^up$/)
    // As the first process does when the one of commands has died.
    new CommandProcesses(base, ...(isGrouped ? [] : [null])).killAll()
    await untilGone(pid)
    assert.equal((await ended).error?.message, 'Killed by SIGKILL')
  })
}

test('processes of another attempt live on', async (t) => {
  const { run, listener, base } = await setup(t, { isGrouped: false })
  const other = await setup(t, { isGrouped: false })
  const ended = other.run('echo up; read line; sleep 0.2; echo done')
  await other.listener.says(/^up$/)
  await run(leave)
  new CommandProcesses(base, null).killAll()
  assert.deepEqual(await ended, { error: null, preview: 'up\ndone' })
  assert.equal(listener.lines.length, 1)
})

test('a command has limits: the size of a file, open files and processes', async (t) => {
  const { run } = await setup(t)
  const limits = { fileMb: 3, processesMax: 100 }
  // Some shells count processes by -p, others by -u.
  const shown = await run('ulimit -f; ulimit -n; ulimit -p 2>/dev/null || ulimit -u', { limits })
  assert.deepEqual(shown.preview?.split('\n'), ['6144', '4096', '100'])
  const { error } = await run('exec head -c 4000000 /dev/zero > large', { limits })
  assert.equal(error?.message, 'Wrote a file larger than CARILLON_COMMANDS_FILE_MB')
})

test('without groups the CPU time of the processes that were waited for is told', async (t) => {
  const { run, listener } = await setup(t, { isGrouped: false })
  await run('true')
  const spin = 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done'
  await run(`sh -c '${spin}'; ${spin}`)
  await run('true')
  const [before, spun, after] = listener.used as [number, number, number]
  assert(spun >= 40 && before < spun && after < spun, String(listener.used))
})

test('the CPU time of all processes of an attempt is told, also of a child that nobody waited for', async (t) => {
  const { run, listener } = await setup(t)
  const spin = 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done'
  const { error } = await run(`sh -c '(${spin}; : > spun) &'; until [ -e spun ]; do sleep 0.01; done`)
  assert.equal(error, null)
  assert.equal(listener.used.length, 1)
  assert(listener.used[0]! >= 20 && listener.used[0]! < 60_000, String(listener.used))
})
