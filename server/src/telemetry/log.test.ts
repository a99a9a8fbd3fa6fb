import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { loopFailed, migrationApplied, requestFinished, workerRegistered } from './events.ts'
import { startLog } from './log.ts'

function setup(t: TestContext, options: { level?: string; plain?: boolean } = {}) {
  const lines: string[] = []
  const log = startLog({ level: 'info', plain: false, ...options, write: (line) => void lines.push(line) })
  t.after(() => log[Symbol.dispose]())
  return lines
}

test('an event becomes one JSON object with constant text and its facts as fields', (t) => {
  const lines = setup(t)
  migrationApplied.emit({ number: 1, name: '0001-a.sql', tookMs: 5 })
  assert.equal(lines.length, 1)
  const { time, pid, ...entry } = JSON.parse(lines[0]!)
  assert.match(time, /^\d{4}-\d\d-\d\dT.*Z$/)
  assert.equal(pid, process.pid)
  const facts = { event: 'migration.applied', number: 1, name: '0001-a.sql', tookMs: 5 }
  assert.deepEqual(entry, { level: 'info', msg: 'migration applied', ...facts })
})

test('an error is logged with its cause and stack', (t) => {
  const lines = setup(t)
  const error = new Error('outer', { cause: new Error('inner') })
  loopFailed.emit({ loop: 'a', error, failures: 1, retryMs: 500 })
  const { error: logged } = JSON.parse(lines[0]!)
  assert.equal(logged.message, 'outer')
  assert.equal(logged.cause.message, 'inner')
  assert.match(logged.stack, /log\.test\.ts/)
})

test('a person gets one short line', (t) => {
  const lines = setup(t, { plain: true })
  migrationApplied.emit({ number: 1, name: '0001-a.sql', tookMs: 5.123 })
  assert.match(
    lines[0]!,
    /^\d\d:\d\d:\d\d\.\d{3} INFO {2}migration applied number=1 name=0001-a\.sql tookMs=5\.1\n$/,
  )
})

test('lines below the log level are not written', (t) => {
  const lines = setup(t, { level: 'warn' })
  migrationApplied.emit({ number: 1, name: 'a', tookMs: 1 })
  workerRegistered.emit({ workerId: 'a' })
  requestFinished.emit({ method: 'GET', route: '/', status: 200, tookMs: 1 })
  assert.deepEqual(lines, [])
})
