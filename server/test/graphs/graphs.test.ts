// Whole graphs on both stores: every node ends once and as the rules say, in whichever order executions end and however
// often their workers die; and a failed run, once resumed, succeeds.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { POSTGRES_VERSIONS } from '../database.ts'
import { Dice } from '../fuzz/dice.ts'
import type { NodeScript } from './graph-drive.ts'
import { type GraphStore, openOnMemory, openOnPostgres } from './graph-store.ts'
import { assertStoresAgree, drawLosses, type NodeRecord, playOne } from './play-graphs.ts'
import { chain, diamond, fan } from './random-graph.ts'

const STORES: [name: string, open: (t: TestContext) => Promise<GraphStore>][] = [['memory', openOnMemory]]
for (const version of POSTGRES_VERSIONS)
  STORES.push([`PostgreSQL ${version}`, (t) => openOnPostgres(t, version)])

const calm: NodeScript = { fate: 'succeeded', losses: 0 }

for (const [name, open] of STORES) {
  test(`${name}: of a diamond the last node runs once, also when workers die`, async (t) => {
    const records = await playOne(t, open, diamond(), [
      { fate: 'succeeded', losses: 1 },
      { fate: 'succeeded', losses: 2 },
      calm,
      { fate: 'succeeded', losses: 1 },
    ])
    const lost = (times: number) => [[...Array<string>(times).fill('lost'), 'succeeded']]
    const executions = [lost(1), lost(2), lost(0), lost(1)]
    assert.deepEqual(
      records,
      executions.map((list): NodeRecord => ({ state: 'succeeded', executions: list })),
    )
  })
}

for (const shape of [chain(200), fan(200)]) {
  for (const [name, open] of STORES) {
    test(`${name}: ${shape.name} runs each node once`, async (t) => {
      const dice = new Dice(4)
      const script = Array.from(
        { length: shape.nodes },
        (): NodeScript => ({ ...calm, losses: drawLosses(dice) }),
      )
      const records = await playOne(t, open, shape, script)
      for (const [nodeIndex, { state, executions }] of records.entries()) {
        assert.equal(state, 'succeeded')
        const { losses } = script[nodeIndex]!
        assert.deepEqual(executions, [[...Array<string>(losses).fill('lost'), 'succeeded']])
      }
    })
  }
}

test('random graphs 1 have the same records in memory and on PostgreSQL, and are resumed to a good end', async (t) => {
  await assertStoresAgree(t, 1)
})
