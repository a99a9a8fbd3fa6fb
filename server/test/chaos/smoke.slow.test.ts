// Two minutes of real processes under the commonest faults. Whether all was in time is for `npm run chaos` to say: here
// other tests run on the same machine.
import assert from 'node:assert/strict'
import test from 'node:test'
import { SMOKE_KINDS } from './faults.ts'
import { toTable } from './report.ts'
import { runChaos } from './run.ts'

const seed = 20_261_116
const minutes = 2

test('kills, pauses, cuts and a database that dies lose nothing and double nothing', {
  timeout: 600_000,
}, async (t) => {
  const report = await runChaos({
    seed,
    minutes,
    kinds: SMOKE_KINDS,
    strikesAll: true,
    ratePerSecond: 15,
    judgesBounds: false,
    keep: false,
    signal: t.signal,
    say: (line) => t.diagnostic(line),
  })
  const command = `npm run chaos -- --minutes ${minutes} --seed ${seed} --rate 15 --kinds ${SMOKE_KINDS.join(',')}`
  for (const line of toTable(report, command)) t.diagnostic(line)
  assert.deepEqual(report.violations, [])
  const struck = new Set(report.faults.map(({ kind }) => kind))
  assert.deepEqual([...struck].toSorted(), [...SMOKE_KINDS].toSorted())
  assert(report.figures.executions > 0)
})
