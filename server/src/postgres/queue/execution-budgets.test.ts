import assert from 'node:assert/strict'
import test from 'node:test'
import { setupBudgets, testExecutionBudgets } from '../../../test/conformance/queue/execution-budgets.ts'
import { createScenario } from '../../../test/conformance/scenario.ts'
import { bundlePostgres, testOnStores } from '../../../test/conformance/stores.ts'
import { POSTGRES_VERSIONS, useDatabase } from '../../../test/database.ts'
import { PostgresExecutionBudgets } from './execution-budgets.ts'

testOnStores(testExecutionBudgets)

for (const version of POSTGRES_VERSIONS) {
  test(`PostgreSQL ${version}: draws of several servers at once are granted one burst, and no more`, async (t) => {
    const { database, client } = await useDatabase(t, { version })
    const open = async () => createScenario(bundlePostgres({ database, client }))
    const { addLimited } = await setupBudgets(open, t)
    const tenants = await Promise.all([addLimited(50), addLimited(50), addLimited(50)])
    const servers = Array.from({ length: 4 }, () => new PostgresExecutionBudgets(database))
    const draws = servers.flatMap((budgets) =>
      Array.from({ length: 60 }, (_, n) =>
        // In either order of tenants: draws lock their rows in one.
        budgets.draw(
          (n % 2 === 0 ? tenants : tenants.toReversed()).map((tenantId) => {
            return { tenantId, use: 'slot', count: 1 + (n % 3), whole: false }
          }),
        ),
      ),
    )
    const granted = (await Promise.all(draws)).flat().reduce((sum, one) => sum + one.granted, 0)
    // 90 each; less than a second's worth is earned meanwhile.
    assert(granted >= 270 && granted <= 276, `${granted} of 3 times 90`)
  })

  test(`PostgreSQL ${version}: several servers that let executions go together let no more go than one`, async (t) => {
    const { database, client } = await useDatabase(t, { version })
    const open = async () => createScenario(bundlePostgres({ database, client }))
    const { s, addLimited, hold } = await setupBudgets(open, t)
    const tenantId = await addLimited(10)
    const job = await s.createJob({ tenantId, overlapPolicy: 'ALLOW' })
    for (let second = 0; second < 40; second++) await hold(job, second)
    const servers = Array.from({ length: 4 }, () => new PostgresExecutionBudgets(database))
    const order = { after: null, tenants: 100, each: 3, total: 100 }
    const steps = servers.map(async (budgets) => {
      let ready = 0
      for (let step = 0; step < 10; step++) ready += (await budgets.letGo(order)).ready
      return ready
    })
    const ready = (await Promise.all(steps)).reduce((sum, one) => sum + one)
    assert(ready === 18 || ready === 19, `${ready} were let go`)
    assert(Math.abs((await s.executionBudgets.spent(tenantId))! - ready) < 1)
  })
}
