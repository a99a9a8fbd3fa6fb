import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import { curlOf, quote } from './api-request.ts'

test('the curl of an action has its method, its body and the key by name', () => {
  const text = curlOf(
    { method: 'POST', path: '/executions/cancel', body: { filter: { tag: 'a' } } },
    'http://h',
  )
  assert.match(text, /^curl -X POST 'http:\/\/h\/api\/v1\/executions\/cancel'/)
  assert.match(text, /-d '\{"filter":\{"tag":"a"\}\}'$/)
  assert.match(text, /Bearer \$CARILLON_API_KEY/)
})

test('the curl command names the tenant when an operator acts for another tenant', () => {
  const apiRequest = { method: 'DELETE', path: '/dead-letters/1' }
  assert.match(curlOf(apiRequest, 'http://h', 't1'), /-H 'X-Tenant-ID: t1'/)
  assert.doesNotMatch(curlOf(apiRequest, 'http://h'), /X-Tenant-ID/)
})

test('a quoted text is one word for the shell, with any characters in it', () => {
  for (const text of [`it's`, '$(touch /tmp/x)', '"a" `b` \\c', "'; rm -rf /; '"]) {
    assert.equal(execFileSync('sh', ['-c', `printf %s ${quote(text)}`]).toString(), text)
  }
})
