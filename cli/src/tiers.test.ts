// `carillon tiers …` against a real server.
import assert from 'node:assert/strict'
import test from 'node:test'
import type { Tier, TierChanged } from '@carillon/contract/tenant.ts'
import { startServer } from '../test/cli.ts'

test('carillon tiers', async (t) => {
  const server = await startServer(t)
  const { call, json } = server

  await t.test('list and get show the limits', async () => {
    const { out } = await call(['tiers', 'list'])
    const rows = out
      .trim()
      .split('\n')
      .map((line) => line.split('\t').slice(0, 4))
    assert.deepEqual(rows, [
      ['enterprise', '10', '1000000', '604800'],
      ['free', '1', '10000', '3600'],
      ['pro', '3', '100000', '86400'],
      ['unlimited', '10', 'none', 'none'],
    ])
    assert.equal((await json<Tier>(['tiers', 'get', 'free'])).active_jobs_max, 10_000)
    assert.match((await call(['tiers', 'get', 'unlimited'])).out, /active_jobs_max\s+none/)
  })

  await t.test('set changes the named limits and leaves the others', async () => {
    const before = await json<Tier>(['tiers', 'get', 'free'])
    const dry = await call(['tiers', 'set', 'free', '--limit', 'active_jobs_max=5', '--dry-run'])
    assert.deepEqual([dry.code, dry.out], [0, 'Would: the tier free is set.\n'])
    assert.deepEqual(await json<Tier>(['tiers', 'get', 'free']), before)
    const limits = ['--limit', 'active_jobs_max=5', '--limit', 'requests_per_second=none']
    await json<TierChanged>(['tiers', 'set', 'free', ...limits, '-l', 'dead_letters=true'])
    const changed = { active_jobs_max: 5, requests_per_second: null, dead_letters: true }
    assert.deepEqual(await json<Tier>(['tiers', 'get', 'free']), { ...before, ...changed })
  })

  await t.test('set makes a tier like another one', async () => {
    const missing = await call(['tiers', 'set', 'gold', '--limit', 'weight=4'])
    assert.equal(missing.code, 3)
    assert.match(missing.err, /--like/)
    assert.equal((await call(['tiers', 'set', 'gold', '--like', 'pro', '--limit', 'weight=4'])).code, 0)
    const [pro, gold] = [
      await json<Tier>(['tiers', 'get', 'pro']),
      await json<Tier>(['tiers', 'get', 'gold']),
    ]
    assert.deepEqual(gold, { ...pro, name: 'gold', weight: 4 })
  })

  await t.test('set names the tenants beyond the limits', async () => {
    for (const name of ['a', 'b'])
      await call([
        'jobs',
        'create',
        '--name',
        name,
        '--schedule',
        '@daily',
        '--callback-url',
        `${server.url}/echo`,
      ])
    const { out } = await call(['tiers', 'set', 'unlimited', '--limit', 'active_jobs_max=1', '--dry-run'])
    assert.match(out, /^! default is beyond active_jobs_max: 2 of 1$/m)
    const { exceeding } = await json<TierChanged>([
      'tiers',
      'set',
      'unlimited',
      '-l',
      'retries_max=1',
      '--dry-run',
    ])
    assert.deepEqual(exceeding[0]!.limits, [{ limit: 'retries_max', allowed: 1, used: 3, jobs: 2 }])
  })

  await t.test('wrong values are refused by name', async () => {
    assert.equal((await call(['tiers', 'set', 'free'])).code, 2)
    assert.equal((await call(['tiers', 'set', 'free', '--limit', 'weight=much'])).code, 2)
    const unknown = await call(['tiers', 'set', 'free', '--limit', 'jobs=1'])
    assert.equal(unknown.code, 4)
    assert.match(unknown.err, /jobs/)
    assert.equal((await call(['tiers', 'get', 'silver'])).code, 3)
  })
})
