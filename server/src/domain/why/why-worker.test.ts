import assert from 'node:assert/strict'
import test from 'node:test'
import type { Execution } from '../jobs/job.ts'
import { nobodyText, runnersOf } from './why-worker.ts'

const handler: Execution = { type: 'worker', handler: 'report', labels: ['eu', 'gpu'], timeout_seconds: 1 }
const shell: Execution = { type: 'shell', command: '/a', args: [], env: {}, timeout_seconds: 1 }
const artifact: Execution = { type: 'artifact', artifact_id: 'a', entrypoint: 'b', timeout_seconds: 1 }

test('a handler is run by a worker that has it, with all the labels, of the same tenant or ours', () => {
  const wanted = { executor: 'worker', tenantId: 't', handler: 'report', labels: ['eu', 'gpu'] }
  assert.deepEqual(runnersOf({ execution: handler, tenantId: 't' }), wanted)
})

test('commands and artifacts are run by workers of ours that may', () => {
  for (const execution of [shell, artifact]) {
    const wanted = { executor: execution.type, tenantId: null, handler: null, labels: [] }
    assert.deepEqual(runnersOf({ execution, tenantId: 't' }), wanted)
  }
})

test('when no worker can run it, the sentence names the missing part', () => {
  assert.equal(nobodyText(handler), 'no worker runs the handler report with the labels eu, gpu')
  assert.equal(nobodyText({ ...handler, labels: [] }), 'no worker runs the handler report')
  assert.match(nobodyText(shell), /CARILLON_SHELL_COMMANDS/)
  assert.match(nobodyText(artifact), /CARILLON_ARTIFACTS/)
})
