import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import test from 'node:test'
import { ERROR_TYPES } from '@carillon/contract/constants.ts'
import { isRetried } from './retry.ts'

test('docs/retries.md tells of every error whether it is retried, as the code has it', async () => {
  const page = await readFile(new URL('../../../../docs/retries.md', import.meta.url), 'utf8')
  const rows = page.split('\n').filter((line) => /^\| `[A-Z_]+`/.test(line) && /\| (yes|no)/.test(line))
  const told = new Map<string, boolean>()
  for (const row of rows) {
    const [, names = '', answer = ''] = row.split('|')
    const suffix = /other status/.test(names) ? ' 404' : /5xx/.test(names) ? ' 503' : ''
    for (const [, type] of names.matchAll(/`([A-Z_]+)`/g)) told.set(`${type}${suffix}`, /^ yes/.test(answer))
  }
  const expected = ERROR_TYPES.flatMap((type): [string, boolean][] =>
    type === 'HTTP_ERROR'
      ? [404, 503].map((status) => [`${type} ${status}`, isRetried(type, status)])
      : [[type, isRetried(type, null)]],
  )
  assert.deepEqual([...told].toSorted(), expected.toSorted())
})
