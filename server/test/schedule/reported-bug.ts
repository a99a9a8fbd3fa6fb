// Bugs that users reported against other cron engines, as tests of this one. The threads are listed in
// reference/cron.md section 3; their addresses are https://github.com/<owner>/<repo>/issues/<n>.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cron, runsAfter } from './list-runs.ts'

export interface Reported {
  says: string
  threads: string
  expression: string
  zone?: string
  from: string
  runs: string[]
}

export function testReported(reported: Reported[]): void {
  for (const { says, threads, expression, zone = 'UTC', from, runs } of reported) {
    test(`${says} (${threads})`, () => {
      assert.deepEqual(runsAfter(cron(expression, zone), from, runs.length), runs)
    })
  }
}
