import assert from 'node:assert/strict'
import test from 'node:test'
import { listWorkers } from '../../test/list-workers.ts'
import { setupWorker } from '../../test/worker-scene.ts'
import { defaultTenantId } from '../domain/tenants/tenant.ts'
import { createRouteFinder } from './find-routes.ts'

const exited = { error: { type: 'EXIT_CODE', message: 'Exited with code 3' } } as const

test('a worker of commands registers its executors, runs commands, and leaves HTTP calls to others', async (t) => {
  const { startShell, createCalled, createShell, fire, turn, runs, attemptsOf, statusOf, finished, workers } =
    await setupWorker(t)
  const worker = await startShell()
  const called = await fire(await createCalled({}), 0)
  const command = await fire(await createShell({ payload: { a: 1 } }), 0)
  await turn(worker)
  assert.deepEqual(
    runs.map(({ call }) => [call.executionId, call.payload]),
    [[command, '{"a":1}']],
  )
  runs[0]!.end({ preview: 'done' })
  await turn(worker)
  assert.deepEqual([attemptsOf(command), await statusOf(called)], [[[1, 'succeeded']], 'PENDING'])
  assert.deepEqual(
    finished.map(({ executionId, executor }) => [executionId, executor]),
    [[command, 'shell']],
  )
  const [shown] = await listWorkers(workers, { tenantId: null })
  assert.deepEqual([shown!.executors, shown!.handlers, shown!.tenantId], [['shell'], [], null])
})

test('a worker of handlers claims from the routes of its handlers', async (t) => {
  const s = await setupWorker(t)
  const handler = { type: 'worker', handler: 'send', labels: [] as string[], timeout_seconds: 30 } as const
  const names: string[] = []
  const executor = {
    async run({ execution }: { execution: { type: string } }) {
      names.push(JSON.stringify(execution))
      return { error: null, preview: null }
    },
  }
  const of = { tenantId: defaultTenantId, handlers: ['send'], labels: ['eu'] }
  const routes = createRouteFinder(s.ports.routes, of)
  const worker = await s.start({ executors: { worker: executor } }, { ...of, routes })
  assert.equal(await worker.claim(), 'idle')
  const mine = await s.fire(await s.createJob({ execution: { ...handler, labels: ['eu'] } }), 0)
  const other = await s.fire(await s.createJob({ execution: { ...handler, handler: 'clean' } }), 0)
  const elsewhere = await s.fire(await s.createJob({ execution: { ...handler, labels: ['us'] } }), 0)
  await s.turn(worker)
  const statuses = await Promise.all([mine, other, elsewhere].map(s.statusOf))
  assert.deepEqual([statuses, names.length], [['SUCCEEDED', 'PENDING', 'PENDING'], 1])
  const [shown] = await listWorkers(s.workers, { tenantId: defaultTenantId })
  assert.deepEqual([shown!.executors, shown!.handlers, shown!.labels], [['worker'], ['send'], ['eu']])
})

test('commands are not delayed by the cap of a host', async (t) => {
  const { startShell, createShell, fireBatch, turn, runs } = await setupWorker(t)
  const worker = await startShell({ capacity: 16 })
  const jobs = []
  for (let i = 0; i < 16; i++) jobs.push(await createShell())
  await fireBatch(jobs, 0)
  await turn(worker)
  assert.equal(runs.length, 16)
})

test('the log, progress and checkpoint of a command are written every second', async (t) => {
  const { startShell, createShell, fire, turn, runs, view, ports } = await setupWorker(t)
  const worker = await startShell()
  const executionId = await fire(await createShell(), 0)
  await turn(worker)
  const { context } = runs[0]!
  context.log('info', 'one')
  context.log('error', 'two')
  context.note({ progress: 0.5, message: 'half', checkpoint: { row: 5 } })
  await worker.sendUpdates()
  const { progress, checkpoint, status } = await view(executionId)
  assert.deepEqual([status, progress?.fraction, progress?.message], ['RUNNING', 0.5, 'half'])
  assert.deepEqual(checkpoint, { row: 5 })
  const query = { tenantId: defaultTenantId, executionId, attempt: null, after: null, limit: 10 }
  const { lines } = await ports.logs.read(query)
  assert.deepEqual(
    lines.map(({ line, level, message }) => [line, level, message]),
    [
      [0, 'info', 'one'],
      [1, 'error', 'two'],
    ],
  )
  runs[0]!.end()
  await turn(worker)
  assert.equal((await view(executionId)).status, 'SUCCEEDED')
  assert.equal(worker.isIdle, true)
})

test('the last updates of an attempt are written before its end, so the next attempt starts from its checkpoint', async (t) => {
  const { startShell, createShell, fire, turn, pass, runs, ports } = await setupWorker(t)
  const worker = await startShell()
  const executionId = await fire(await createShell(), 0)
  await turn(worker)
  runs[0]!.context.note({ checkpoint: { row: 7 } })
  runs[0]!.context.log('info', 'last words')
  runs[0]!.end(exited)
  await turn(worker)
  await pass(worker, 2_000)
  const { call } = runs[1]!
  assert.deepEqual([call.executionId, call.attempt, call.checkpoint], [executionId, 2, { row: 7 }])
  const query = { tenantId: defaultTenantId, executionId, attempt: 1, after: null, limit: 10 }
  assert.equal((await ports.logs.read(query)).lines.length, 1)
})

test('a log that cannot be written does not delay the end of an attempt', async (t) => {
  const s = await setupWorker(t)
  let away = true
  const logs = {
    append: (parts: Parameters<typeof s.ports.logs.append>[0]) =>
      away ? Promise.reject(new Error('the log is away')) : s.ports.logs.append(parts),
  }
  const executor = {
    async run(_: unknown, context: { log: (level: 'info', message: string) => void }) {
      context.log('info', 'one')
      return { error: null, preview: null }
    },
  }
  const worker = await s.start({ logs, executors: { shell: executor } }, { routes: ['shell'] })
  const executionId = await s.fire(await s.createShell(), 0)
  await s.turn(worker)
  assert.deepEqual([await s.statusOf(executionId), worker.isIdle], ['SUCCEEDED', true])
  await assert.rejects(worker.sendUpdates(), /away/)
  away = false
  await worker.sendUpdates()
  const query = { tenantId: defaultTenantId, executionId, attempt: 1, after: null, limit: 10 }
  assert.equal((await s.ports.logs.read(query)).lines.length, 1)
})

test('a cancelled command is stopped, and ends cancelled when it has stopped, or after 30 s', async (t) => {
  const s = await setupWorker(t)
  const worker = await s.startShell()
  const ids = (await s.fireBatch([await s.createShell(), await s.createShell()], 0)).executionIds
  await s.turn(worker)
  const target = { tenantId: defaultTenantId, message: 'Cancelled by a person.' }
  for (const executionId of ids) await s.control.cancel({ ...target, executionId })
  await worker.pollCancellations()
  assert.deepEqual(
    s.runs.map(({ context }) => context.signal.aborted),
    [true, true],
  )
  await s.pass(worker, 1_000)
  s.runs[0]!.end()
  await s.pass(worker, 1_000)
  assert.deepEqual(await Promise.all(ids.map(s.statusOf)), ['CANCELLED', 'CANCELLING'])
  await s.pass(worker, 29_000)
  assert.equal(await s.statusOf(ids[1]!), 'CANCELLED')
  assert.equal(worker.inFlight.size, 0)
})

test('a command that maintenance has ended for its silence is stopped, and runs again', async (t) => {
  const s = await setupWorker(t)
  const worker = await s.startShell()
  const job = await s.createShell({ heartbeat_timeout_seconds: 20, timeout_seconds: 600 })
  const executionId = await s.fire(job, 0)
  await s.turn(worker)
  await s.pass(worker, 15_000)
  s.runs[0]!.context.note({})
  await worker.sendUpdates()
  await s.pass(worker, 15_000)
  assert.deepEqual(await s.maintenance.findOverdue(10), [], 'it gave a sign of life')
  await s.pass(worker, 5_000)
  const [overdue] = await s.maintenance.findOverdue(10)
  assert.equal(overdue!.cause, 'silent')
  const { end } = s.failed({ retryAt: s.world.clock.databaseNow() })
  await s.maintenance.timeOut([{ executionId, attempt: 1, fence: overdue!.fence, end }])
  assert.equal(s.runs[0]!.context.signal.aborted, false)
  await worker.pollCancellations()
  assert.equal(s.runs[0]!.context.signal.aborted, true)
  s.runs[0]!.end()
  await s.pass(worker, 100)
  assert.deepEqual(
    s.runs.map(({ call }) => call.attempt),
    [1, 2],
  )
  assert.deepEqual([s.attemptsOf(executionId), s.finished, s.refused], [[[1, 'failed']], [], []])
})

test('an update of an execution that is not ours any more stops it', async (t) => {
  const s = await setupWorker(t)
  const worker = await s.startShell()
  const executionId = await s.fire(await s.createShell(), 0)
  await s.turn(worker)
  const [lease] = await s.maintenance.watch()
  await s.maintenance.reclaim(lease!)
  s.runs[0]!.context.note({ progress: 0.5 })
  await worker.sendUpdates()
  assert.equal(s.runs[0]!.context.signal.aborted, true)
  s.runs[0]!.end()
  await s.world.advance(0)
  await worker.finish()
  assert.deepEqual([s.attemptsOf(executionId), s.finishedIds()], [[[1, 'lost']], []])
  assert.equal(worker.inFlight.size, 0)
})

test('a worker has one suspect in flight at a time, and other executions run beside it', async (t) => {
  const s = await setupWorker(t)
  const dying = await s.startShell()
  const suspects = (
    await s.fireBatch([await s.createShell(), await s.createShell(), await s.createShell()], 0)
  ).executionIds
  await s.turn(dying)
  const [lease] = await s.maintenance.watch()
  await s.maintenance.reclaim(lease!)
  // It is lost with another worker too: one loss makes no suspect.
  const lost = await s.addWorker()
  assert.equal((await s.claimOn(lost, ['shell'])).live.length, 3)
  await s.maintenance.reclaim({ holderId: lost, beats: 0 })
  s.runs.length = 0
  const fresh = await s.fire(await s.createShell(), 0)
  const worker = await s.startShell()
  await s.turn(worker)
  const isSuspect = (executionId: string) => suspects.includes(executionId)
  assert.equal(s.runs.length, 2)
  assert.equal(s.runs.filter(({ call }) => isSuspect(call.executionId)).length, 1)
  assert(s.runs.some(({ call }) => call.executionId === fresh))
  for (let ended = 1; ended <= 3; ended++) {
    assert.equal(worker.inFlight.suspects, 1)
    s.runs.findLast(({ call }) => isSuspect(call.executionId))!.end()
    await s.turn(worker)
    await s.turn(worker)
  }
  assert.equal(worker.inFlight.suspects, 0)
  for (const executionId of suspects) assert.equal(await s.statusOf(executionId), 'SUCCEEDED')
})

test('a worker that stops gives up its running commands, with their updates so far', async (t) => {
  const { startShell, createShell, fire, turn, runs, statusOf, ports } = await setupWorker(t)
  const worker = await startShell()
  const executionId = await fire(await createShell(), 0)
  await turn(worker)
  runs[0]!.context.log('info', 'so far')
  runs[0]!.context.note({ checkpoint: 1 })
  await worker.drain()
  await worker.release()
  assert.equal(runs[0]!.context.signal.aborted, true)
  assert.equal(await statusOf(executionId), 'RETRYING')
  const query = { tenantId: defaultTenantId, executionId, attempt: 1, after: null, limit: 10 }
  assert.equal((await ports.logs.read(query)).lines.length, 1)
})
