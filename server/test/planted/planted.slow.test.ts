// Planted bugs are found: two of them here, all of them by `npm run sim:prove`.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import test from 'node:test'
import { promisify } from 'node:util'
import type { Hunt } from './hunt.ts'
import { plantedVariable } from './planted-bug.ts'

// One that breaks the schedule engine, of which the checker has a copy without the bug, and one that breaks a rule.
for (const name of ['autumn hour runs twice', 'success after a cancel']) {
  test(`"${name}" is found`, async () => {
    const hunt = await lookFor(name)
    assert.match(hunt.invariant ?? '', /^I\d+$/, JSON.stringify(hunt))
  })
}

async function lookFor(name: string): Promise<Hunt> {
  const file = (of: string) => join(import.meta.dirname, of)
  const env = { ...process.env, [plantedVariable]: name }
  const args = ['--import', file('register.ts'), file('hunt.ts'), '1', '500']
  const { stdout } = await promisify(execFile)(process.execPath, args, { env })
  return JSON.parse(stdout) as Hunt
}
