// Phrasings that read as translated, or mean something else in English. Texts for people use the words of the trade.
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

const root = join(import.meta.dirname, '..')

/** By the text to write instead. */
const banned: Readonly<Record<string, RegExp>> = {
  Interval: /every so often/i,
  'Specific times': /'At times'/,
  'Plain English': /'In words'/,
  'Once, now': /right away'/i,
  Cancel: /keep as it is/i,
  'Create job':
    /\b(make|create|pause|resume|retry|delete|redrive|cancel|run|restore|rotate|revoke|discard|save) it['"<]/i,
  'Create jobs': /\b(make|create|pause|resume|retry|delete|redrive|discard|cancel|run) them['"<]/i,
  'API & CLI equivalent': /the same from a program/i,
  'Timeout per attempt': /an attempt may take/i,
  'Total timeout': /['"]all attempts together/i,
  'Heartbeat timeout': /may be silent for/i,
  'Max concurrent runs': /of this job at once/i,
  'Concurrency group': /key of a shared limit|with that key at once/i,
  'Initial delay': /\bfirst delay\b|\blongest delay\b/i,
  'If still running': /when the earlier one still runs|the new one is skipped/i,
  'After downtime': /when slots were missed|missed slots run for/i,
  'One per line': /\bone a line\b/i,
  'Worker function': /handler of a worker/i,
  'Avg. duration': /takes on average|executions kept/i,
  'Last run': /last slot that ran/i,
  'Empty response body': /it answered nothing|called without a payload|left no log/i,
  'No runs were due in this period': /no slot lies|look at a longer time/i,
  'View all': /all of them\s*<|look at them|>see it</i,
  'Exclusion calendars': /days on which not to run/i,
  'Times shown in': /hours and days of/i,
  'Rate (per second)': /how many a second/i,
  'dead letters': /\bplural\([^)]*, 'letter'\)/,
  'Reason (shown to your team)': /for later readers|wonder later/i,
  'No new runs start until you resume': /none of (its|their) slots fires/i,
  'Expires, Created, Prefix': /'(Ends|Made|Begins with)', '/,
  'Operator keys': /keys of operators/i,
  'Takes effect everywhere within 5 s': /other servers see/i,
  'Retrying …': /tried again by itself/i,
  'Clear a filter': /take a filter away/i,
  'Page not found': /there is no such screen/i,
  'This was changed while you were editing': /while you were at it/i,
  'Type "delete" to confirm': /to be sure, write/i,
  'does not look like a complete API key': /checksum does not fit/i,
  'Current definition': /jobs as they are now|'At a resume'/i,
}

/** Texts of the screens Now and Jobs are still to be rewritten. */
const files = globSync(['dashboard/src/**/*.{ts,tsx}', 'cli/src/**/*.ts', 'docs/*.md', 'README.md'], {
  cwd: root,
}).filter(
  (path) => !/\.test\.ts$|screens\/now\/|jobs-screen\.tsx$/.test(path) && !path.includes('node_modules'),
)

test('no text of the dashboard, the command line or the docs has a banned phrasing', () => {
  assert(files.length > 150, 'the files were found')
  const found = files.flatMap((path) =>
    readFileSync(join(root, path), 'utf8')
      .split('\n')
      .flatMap((line, index) =>
        /^\s*(\/\/|\*|\/\*)/.test(line)
          ? []
          : Object.entries(banned)
              .filter(([, pattern]) => pattern.test(line))
              .map(([better]) => `${path}:${index + 1} ${line.trim().slice(0, 100)} → ${better}`),
      ),
  )
  assert.deepEqual(found, [])
})
