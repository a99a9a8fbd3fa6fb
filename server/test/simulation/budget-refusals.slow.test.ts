// The requests of tenants with a limit on executions a minute, over an hour of the virtual clock: how many are taken, and
// how many are refused, to the last execution.
import assert from 'node:assert/strict'
import test from 'node:test'
import { addKey, addTenant } from '../access.ts'
import { assertProblem, setupApp } from '../app.ts'

const tiers = [['free', 100], ['pro', 1_000], ['enterprise', 10_000]] as const // biome-ignore format: a table
const requests = 900
const everyMs = 4_000
/** With a tenth of the rate every four seconds a tenant asks for half as much again as its tier allows. */
const share = 0.1
/** Of one job: it has at most 100,000 triggered executions that have not ended. */
const requestsEach = 90
const lastMs = (requests - 1) * everyMs

test('over an hour of too many triggers each tier gets its burst and its rate, and the rest is refused', async (t) => {
  for (const [tier, perMinute] of tiers) {
    const { call: operate, world } = await setupApp(t)
    const { headers } = await addKey(operate, await addTenant(operate, tier, tier))
    const post = (path: string, body?: unknown) => operate('POST', path, body, headers)
    const execution = { callback_url: 'https://a.example' }
    const daily = { name: 'daily', schedule: '@daily', overlap_policy: 'ALLOW', execution }
    const addJob = async () => (await post('/jobs', daily)).json().job_id as string
    let jobId = await addJob()
    const trigger = (count: number) => post(`/jobs/${jobId}/triggers`, { count })

    const count = perMinute * share
    let taken = 0
    for (let n = 0; n < requests; n++) {
      if (n > 0) await world.advance(everyMs)
      if (n % requestsEach === 0) jobId = await addJob()
      const answer = await trigger(count)
      if (answer.statusCode === 202) taken += 1
      else assertProblem(answer, 'QUOTA_EXCEEDED')
    }
    const allowed = perMinute * (2 + lastMs / 60_000)
    assert.equal(taken, Math.floor(allowed / count), tier)
    assert.equal(taken, 619, tier)

    // The rest is less than such a request: it is there to the last execution, and a refusal has taken nothing of it.
    const left = Math.floor(allowed - taken * count)
    assertProblem(await trigger(left + 1), 'QUOTA_EXCEEDED')
    assert.equal((await trigger(left)).statusCode, 202, tier)
    assertProblem(await post(`/jobs/${jobId}/trigger`), 'QUOTA_EXCEEDED')
    const now = { name: 'now', schedule: { type: 'IMMEDIATE' }, priority: 8, execution }
    assertProblem(await post('/jobs', now), 'QUOTA_EXCEEDED')

    const refused = await trigger(count)
    assert.equal(refused.headers['retry-after'], '6', tier)
    await world.advance(5_000)
    assertProblem(await trigger(count), 'QUOTA_EXCEEDED')
    await world.advance(1_000)
    assert.equal((await trigger(count)).statusCode, 202, tier)
  }
})
