import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import test from 'node:test'
import { ERRORS, FIELD_ERRORS } from '@carillon/contract/errors.ts'
import { checkoutDir } from '../../config/read.ts'

test('docs/errors.md lists every code of the registry as the registry has it', async () => {
  const doc = await readFile(join(checkoutDir, 'docs/errors.md'), 'utf8')
  const rows = doc.split('\n').filter((line) => /^\| `[A-Z]/.test(line))
  const expected = Object.entries(ERRORS).map(
    ([code, { status, title, help }]) => `| \`${code}\` | ${status} | ${title} | ${help} |`,
  )
  const ofFields = Object.entries(FIELD_ERRORS).map(([code, meaning]) => `| \`${code}\` | ${meaning} |`)
  assert.deepEqual(rows, [...expected, ...ofFields])
})
