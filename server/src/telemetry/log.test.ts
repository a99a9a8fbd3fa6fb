import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { Unavailable } from '../lib/unavailable.ts'
import { loopFailed, migrationApplied, requestFinished, schemaMigrated, workerRegistered } from './events.ts'
import { startLog } from './log.ts'

function setup(t: TestContext, options: { level?: string; plain?: boolean } = {}) {
  const lines: string[] = []
  const log = startLog({ level: 'info', plain: false, ...options, write: (line) => void lines.push(line) })
  t.after(() => log[Symbol.dispose]())
  return lines
}

test('an event becomes one JSON object with constant text and its facts as fields', (t) => {
  const lines = setup(t)
  schemaMigrated.emit({ steps: 3, tookMs: 5 })
  assert.equal(lines.length, 1)
  const { time, pid, ...entry } = JSON.parse(lines[0]!)
  assert.match(time, /^\d{4}-\d\d-\d\dT.*Z$/)
  assert.equal(pid, process.pid)
  const facts = { event: 'schema.migrated', steps: 3, tookMs: 5 }
  assert.deepEqual(entry, { level: 'info', msg: 'the schema is up to date', ...facts })
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

test('each migration is a line at debug level alone', (t) => {
  const usual = setup(t)
  const detailed = setup(t, { level: 'debug' })
  migrationApplied.emit({ number: 1, name: '0001-a.sql', tookMs: 5 })
  assert.deepEqual([usual.length, detailed.length], [0, 1])
})

test('of a database that does not answer only the debug level has the stack', (t) => {
  const usual = setup(t, { plain: true })
  const detailed = setup(t, { plain: true, level: 'debug' })
  const error = new Unavailable('the database', { cause: new Error('timeout expired') })
  loopFailed.emit({ loop: 'claim', error, failures: 1, retryMs: 500 })
  assert.equal(usual.length, 1)
  assert.match(
    usual[0]!,
    /a step failed; trying again loop=claim error=the database does not answer: timeout expired/,
  )
  assert.doesNotMatch(usual[0]!, / at .*\.ts/)
  assert.match(detailed[0]!, /log\.test\.ts/)
})

test('a person gets one short line', (t) => {
  const lines = setup(t, { plain: true })
  schemaMigrated.emit({ steps: 3, tookMs: 5.123 })
  assert.match(lines[0]!, /^\d\d:\d\d:\d\d\.\d{3} INFO {2}the schema is up to date steps=3 tookMs=5\.1\n$/)
})

test('lines below the log level are not written', (t) => {
  const lines = setup(t, { level: 'warn' })
  migrationApplied.emit({ number: 1, name: 'a', tookMs: 1 })
  workerRegistered.emit({ workerId: 'a' })
  requestFinished.emit({ method: 'GET', route: '/', status: 200, tookMs: 1 })
  assert.deepEqual(lines, [])
})
