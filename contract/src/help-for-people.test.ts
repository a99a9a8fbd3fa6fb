import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ERRORS } from './errors.ts'
import { helpForPeople } from './help-for-people.ts'

test('no advice for people speaks of the API', () => {
  for (const [code, { help }] of Object.entries(ERRORS))
    assert.doesNotMatch(helpForPeople(help), /`|\/api\/|openapi|Bearer|Retry-After|If-Match|X-Tenant/, code)
})

test('sentences for programs are left out, and the others stay', () => {
  assert.equal(helpForPeople(ERRORS.UNAUTHENTICATED.help), '')
  assert.equal(helpForPeople(ERRORS.INVALID_REQUEST.help), '')
  assert.equal(helpForPeople(ERRORS.INVALID_SCHEDULE.help), 'The full syntax is in docs/schedules.md.')
  assert.equal(
    helpForPeople(ERRORS.OPERATION_NOT_FOUND.help),
    'Operations are kept for 7 days after their end.',
  )
  assert.match(helpForPeople(ERRORS.TARGET_FORBIDDEN.help), /CARILLON_ALLOW_PRIVATE_TARGETS is true or/)
})
