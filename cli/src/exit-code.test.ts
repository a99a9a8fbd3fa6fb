import assert from 'node:assert/strict'
import test from 'node:test'
import { ERRORS } from '@carillon/contract/errors.ts'
import type { Problem } from '@carillon/contract/problem.ts'
import { CarillonError } from '@carillon/sdk'
import { writeFailure } from './exit-code.ts'

const title = 'The request does not have the documented form'

function refusal(detail: string, more: Pick<Problem, 'errors' | 'errors_omitted'>): CarillonError {
  const type = 'urn:carillon:error:INVALID_REQUEST'
  const problem: Problem = {
    type,
    title,
    status: 400,
    code: 'INVALID_REQUEST',
    detail,
    help: 'Help.',
    ...more,
  }
  return new CarillonError(detail, { status: 400, problem })
}

test('a refusal with one error is one line and the advice', () => {
  const errors = [{ pointer: '/name', detail: 'is required' }]
  assert.equal(writeFailure(refusal('/name is required.', { errors })), 'carillon: /name is required.\nHelp.')
})

test('advice on the API is replaced by advice on the command, or left out', () => {
  const problem = (code: 'UNAUTHENTICATED' | 'INVALID_REQUEST') => {
    const { status, title: heading, help } = ERRORS[code]
    const body = { type: `urn:carillon:error:${code}`, title: heading, status, code, detail: 'No.', help }
    return writeFailure(new CarillonError('No.', { status, problem: { ...body, errors: [] } as Problem }))
  }
  assert.equal(problem('UNAUTHENTICATED'), 'carillon: No.\nGive --key KEY or set CARILLON_API_KEY.')
  assert.equal(problem('INVALID_REQUEST'), 'carillon: No.')
})

test('each of several errors has its own line, and the number of unlisted ones comes last', () => {
  const errors = [
    { pointer: '/name', detail: 'is required' },
    { pointer: '/execution', detail: 'is required' },
    {
      pointer: '/tgs',
      code: 'UNKNOWN_FIELD' as const,
      detail: 'is not a known field; did you mean tags?',
      suggestions: ['tags'],
    },
    { pointer: '/schedule', detail: 'It is not understood.', suggestions: ['every day'] },
  ]
  const refused = refusal('/name is required. 8 more errors.', { errors, errors_omitted: 5 })
  refused.message = `jobs.yaml: ${refused.message}`
  assert.equal(
    writeFailure(refused),
    [
      `carillon: jobs.yaml: ${title}:`,
      '  /tgs is not a known field; did you mean tags?',
      '  /name is required',
      '  /execution is required',
      '  /schedule It is not understood.',
      '  Try: every day',
      '  and 5 more',
      'Help.',
    ].join('\n'),
  )
})
