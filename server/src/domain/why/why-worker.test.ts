import assert from 'node:assert/strict'
import test from 'node:test'
import type { Execution } from '../jobs/job.ts'
import { canRun, nobodyText } from './why-worker.ts'

const handler: Execution = { type: 'worker', handler: 'report', labels: ['eu', 'gpu'], timeout_seconds: 1 }
const shell: Execution = { type: 'shell', command: '/a', args: [], env: {}, timeout_seconds: 1 }
const artifact: Execution = { type: 'artifact', artifact_id: 'a', entrypoint: 'b', timeout_seconds: 1 }
const own = {
  tenantId: 't',
  executors: ['worker'],
  handlers: ['report'],
  labels: ['eu', 'gpu', 'x'],
} as const
const ours = { tenantId: null, executors: ['http', 'shell'], handlers: [], labels: [] } as const

test('a handler is run by a worker that has it, with all the labels, of the same tenant or ours', () => {
  const call = { execution: handler, tenantId: 't' }
  assert(canRun(own, call))
  assert(canRun({ ...own, tenantId: null }, call))
  assert(!canRun({ ...own, tenantId: 'other' }, call))
  assert(!canRun({ ...own, handlers: ['reports'] }, call))
  assert(!canRun({ ...own, labels: ['eu'] }, call))
  assert(!canRun(ours, call))
})

test('commands and artifacts are run by workers of ours that may', () => {
  assert(canRun(ours, { execution: shell, tenantId: 't' }))
  assert(!canRun(ours, { execution: artifact, tenantId: 't' }))
  assert(!canRun({ ...ours, tenantId: 't' }, { execution: shell, tenantId: 't' }))
})

test('when no worker can run it, the sentence names the missing part', () => {
  assert.equal(nobodyText(handler), 'no worker runs the handler report with the labels eu, gpu')
  assert.equal(nobodyText({ ...handler, labels: [] }), 'no worker runs the handler report')
  assert.match(nobodyText(shell), /CARILLON_SHELL_COMMANDS/)
  assert.match(nobodyText(artifact), /CARILLON_ARTIFACTS/)
})
