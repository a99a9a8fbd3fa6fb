// `carillon apply` and `carillon export` against a real server.
import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'node:test'
import type { Job } from '@carillon/contract/job.ts'
import { createClient } from '@carillon/sdk'
import { cleanUp } from '../../server/test/cleanup.ts'
import { startServer } from '../test/cli.ts'

const words = (text: string) => text.trim().split(/\s+/)

interface Applied {
  plan: {
    kind: string
    action: string
    key: string
    changes: { path: string; from?: unknown; to?: unknown }[]
  }[]
  summary: { create: number; change: number; delete: number; unchanged: number }
  applied: boolean
}

test('carillon apply and export', async (t) => {
  const server = await startServer(t)
  const dir = await mkdtemp(join(tmpdir(), 'carillon-apply-'))
  cleanUp(t, () => rm(dir, { recursive: true }))
  const echo = { callback_url: `${server.url}/echo` }
  const apply = (document: unknown, args = '--yes') =>
    server.json<Applied>(words(`apply -f - ${args}`), { stdin: JSON.stringify(document) })
  const get = (key: string) => server.json<Job>(['jobs', 'get', key])
  const actions = ({ plan }: Applied) => plan.map(({ action, key }) => `${action} ${key}`)

  await t.test('a folder of YAML and JSON becomes jobs, in the order of their dependencies', async () => {
    const folder = join(dir, 'jobs')
    await mkdir(join(folder, 'more'), { recursive: true })
    await writeFile(
      join(folder, 'a.yaml'),
      `calendars:
  holidays: { description: Days off, entries: [{ date: 2026-10-03 }] }
jobs:
  - key: load
    name: Load
    tags: [etl]
    depends_on: [{ key: extract }]
    execution: { callback_url: "${server.url}/echo" }
  - key: extract
    name: Extract
    tags: [etl]
    schedule: { cron_expression: 0 2 * * *, timezone: Europe/Berlin, exclusions: [{ calendar: holidays }] }
    execution: { callback_url: "${server.url}/echo" }
`,
    )
    const notify = {
      key: 'notify',
      name: 'Notify',
      tags: ['etl'],
      depends_on: [{ key: 'load', on: 'completion' }],
      execution: echo,
    }
    await writeFile(join(folder, 'more', 'b.json'), JSON.stringify(notify))
    await writeFile(join(folder, 'README.md'), 'not a job')

    const dry = await server.call(['apply', '-f', folder, '--dry-run'])
    assert.match(
      dry.out,
      /\+ create {2}extract[\s\S]*\+ create {2}load[\s\S]*\nPlan: 4 to create, 0 to change, 0 to delete/,
    )
    assert.equal((await server.call(words('jobs get extract'))).code, 3)

    const asked = await server.call(['apply', '-f', folder])
    assert.equal(asked.code, 2)
    const done = await server.json<Applied>(['apply', '-f', folder, '--yes'])
    assert.equal(done.applied, true)
    assert.deepEqual((await get('notify')).depends_on, [
      { job_id: (await get('load')).job_id, on: 'completion' },
    ])
    const again = await server.call(['apply', '-f', folder])
    assert.deepEqual([again.code, again.out], [0, 'No changes: 4 unchanged.\n'])
  })

  await t.test('a plan shows each value that changes, and only that is changed', async () => {
    const extract = {
      key: 'extract',
      name: 'Extract',
      tags: ['etl'],
      schedule: '0 3 * * *',
      execution: echo,
      priority: 2,
    }
    const planned = await apply({ jobs: [extract] }, '--dry-run')
    assert.deepEqual(actions(planned), ['change extract'])
    assert.deepEqual(
      planned.plan[0]!.changes.map(({ path }) => path),
      ['schedule.cron_expression', 'schedule.timezone', 'schedule.exclusions', 'priority'],
    )
    const text = await server.call(words('apply -f - --yes'), { stdin: JSON.stringify(extract) })
    assert.match(text.out, /schedule\.cron_expression: "0 2 \* \* \*" -> "0 3 \* \* \*"/)
    assert.match(text.out, /priority: \(default\) -> 2/)
    assert.equal((await get('extract')).version, 2)
    assert.equal((await get('load')).version, 1)
  })

  await t.test('values that are not shown are kept by *** and changed by others', async () => {
    const secret = (value: string) => ({
      key: 'secret',
      name: 's',
      schedule: '@daily',
      execution: { ...echo, headers: { 'X-A': value } },
    })
    await apply(secret('one'))
    assert.deepEqual(actions(await apply(secret('***'))), ['none secret'])
    assert.deepEqual(actions(await apply(secret('one'))), ['none secret'])
    const changed = await apply(secret('two'))
    assert.deepEqual(changed.plan[0]!.changes, [{ path: 'execution.headers', from: '***', to: '***' }])
  })

  await t.test(
    'prune deletes only jobs that the tag or the prefix covers and the files do not name',
    async () => {
      const plain = { schedule: '@daily', execution: echo }
      await apply([
        { key: 'app-one', name: 'one', tags: ['app'], ...plain },
        { key: 'app-two', name: 'two', tags: ['app'], depends_on: ['app-one'], execution: echo },
        { key: 'app-three', name: 'three', ...plain },
        { key: 'other', name: 'other', tags: ['app-like'], ...plain },
      ])
      // A job without a key was not made by apply, regardless of its tags.
      await server.json([
        ...words('jobs create --name keyless --schedule @daily --tag app --callback-url'),
        `${server.url}/echo`,
      ])
      const kept = { key: 'app-new', name: 'new', tags: ['app'], ...plain }
      const alone = await server.call(words('apply -f - --prune --yes'), { stdin: JSON.stringify(kept) })
      assert.equal(alone.code, 2)
      assert.match(alone.err, /--tag TAG or --prefix PREFIX/)
      const pruned = await apply(kept, '--prune --tag app --yes')
      assert.deepEqual(actions(pruned), ['create app-new', 'delete app-two', 'delete app-one'])
      for (const key of ['app-three', 'other', 'keyless', 'extract', 'app-new'])
        assert.equal((await get(key)).status, 'ACTIVE')
      const byPrefix = await apply(kept, '--prune --prefix app- --dry-run')
      assert.deepEqual(actions(byPrefix), ['none app-new', 'delete app-three'])
      const stdin = JSON.stringify({ ...kept, schedule: undefined, depends_on: [{ key: 'app-three' }] })
      const needed = await server.call(words('apply -f - --prune --prefix app- --yes'), { stdin })
      assert.equal(needed.code, 4)
      assert.match(needed.err, /"app-new" runs after "app-three", which --prune would delete/)
    },
  )

  await t.test('apply refuses impossible documents before it changes anything', async () => {
    const job = (change: object) => ({ key: 'x', name: 'x', execution: echo, ...change })
    const cases = [
      [job({ key: undefined, schedule: '@daily' }), 2, /has no key/],
      [[job({ schedule: '@daily' }), job({ schedule: '@daily' })], 2, /two jobs have the key x/],
      [job({ depends_on: [{ key: 'nobody' }] }), 4, /"x" runs after "nobody", which is neither/],
      [
        [job({ depends_on: [{ key: 'y' }] }), job({ key: 'y', depends_on: [{ key: 'x' }] })],
        4,
        /form a cycle: x after y after x/,
      ],
      [
        [job({ key: 'fine', schedule: '@daily' }), job({ schedule: '@daily', priority: 99 })],
        4,
        /standard input, job 2: x: .*priority/,
      ],
      [job({ depends_on: [5] }), 2, /runs after 5, which is not a key/],
      [{ jobs: [], surprise: 1 }, 2, /"surprise" is unknown/],
    ] as const
    for (const [document, code, message] of cases) {
      const ending = await server.call(words('apply -f - --yes'), { stdin: JSON.stringify(document) })
      assert.equal(ending.code, code, ending.err)
      assert.match(ending.err, message)
    }
    assert.match(
      (await server.call(words('apply -f - --yes'), { stdin: 'jobs: [' })).err,
      /standard input: .*line 1/,
    )
    assert.equal((await server.call(words('jobs get fine'))).code, 3)
  })

  await t.test('dependencies can be turned round', async () => {
    const plain = { schedule: '@daily', execution: echo }
    await apply([
      { key: 'a', name: 'a', ...plain },
      { key: 'b', name: 'b', execution: echo, depends_on: [{ key: 'a' }] },
    ])
    await apply([
      { key: 'b', name: 'b', ...plain },
      { key: 'a', name: 'a', execution: echo, depends_on: [{ key: 'b' }] },
    ])
    assert.equal((await get('a')).depends_on[0]!.job_id, (await get('b')).job_id)
  })

  await t.test('exporting jobs of every kind and applying them again changes nothing', async () => {
    await apply([
      {
        key: 'r-interval',
        name: 'i',
        schedule: { every_seconds: 90, start_at: '2026-01-01T00:00:00Z', max_runs: 7 },
        execution: echo,
      },
      {
        key: 'r-after',
        name: 'a',
        schedule: { every_seconds: 600, after_completion: true },
        execution: echo,
      },
      {
        key: 'r-once',
        name: 'o',
        schedule: { scheduled_time: '2099-01-01T09:00:00Z' },
        execution: { ...echo, method: 'GET' },
      },
      {
        key: 'r-worker',
        name: 'w',
        schedule: 'weekdays at 9 in London',
        execution: {
          type: 'worker',
          handler: 'h',
          labels: ['x'],
          payload: null,
          heartbeat_timeout_seconds: 60,
        },
      },
      {
        key: 'r-shell',
        name: 's',
        schedule: 'H H * * *',
        execution: { type: 'shell', command: '/bin/true', args: ['a b', '""'], env: { A: 'b' } },
      },
      {
        key: 'r-full',
        name: 'f: "yes" #\n',
        description: 'two\nlines',
        schedule: '*/5 * * * *',
        execution: { ...echo, payload: { n: '0x1', list: [] }, total_timeout_seconds: 900 },
        retry_policy: { max_retries: 0, backoff: 'FIXED', auto_redrive_after_seconds: 60 },
        priority: 1,
        overlap_policy: 'ALLOW',
        misfire_policy: 'SKIP',
        misfire_window_seconds: 60,
        jitter_seconds: 5,
        concurrency_limit: 2,
        concurrency_key: { key: 'k', limit: 3 },
        metadata: { a: 'b' },
      },
    ])
    const { out, err } = await server.call(['export'])
    assert.match(err, /1 job has no key and is left out/)
    assert.match(err, /hidden header or environment values \(\*\*\*\)/)
    assert.match(out, /- key: load\n {4}name: Load\n {4}depends_on:\n {6}- key: extract/)
    const again = await server.call(words('apply -f -'), { stdin: out })
    assert.deepEqual([again.code, again.err], [0, ''])
    assert.match(again.out, /^No changes: \d+ unchanged\.\n$/)
    const asJson = await server.call(words('export --json'))
    assert.match((await server.call(words('apply -f -'), { stdin: asJson.out })).out, /^No changes/)
    const byName = await server.call(words('export --json r-full r-worker'))
    assert.deepEqual(
      JSON.parse(byName.out).jobs.map((job: { execution: { payload: unknown } }) => job.execution.payload),
      [{ n: '0x1', list: [] }, null],
    )
    // A file without a payload takes it away: the edit begins with the whole job.
    const { jobs } = JSON.parse(asJson.out)
    const { payload: _, ...without } = jobs.find((job: { key: string }) => job.key === 'r-full').execution
    const edit = await server.call(words('jobs edit r-full --json --dry-run -f -'), {
      stdin: JSON.stringify({
        ...jobs.find((job: { key: string }) => job.key === 'r-full'),
        execution: without,
      }),
    })
    assert.deepEqual(
      JSON.parse(edit.out).changes.map(({ path }: { path: string }) => path),
      ['execution.payload'],
    )
    const one = await server.call(words('export r-once'))
    assert.equal(
      one.out,
      `jobs:\n  - key: r-once\n    name: o\n    schedule:\n      type: ONE_TIME\n      scheduled_time: 2099-01-01T09:00:00Z\n    execution:\n      callback_url: ${server.url}/echo\n      method: GET\n`,
    )
  })

  await t.test('a tenant with few requests a second gets there, too', async () => {
    const operator = createClient({ url: server.url, key: server.key })
    const { tenant_id: tenantId } = await operator.tenants.create({ name: 'small', tier: 'free' })
    const tenant = createClient({ url: server.url, key: server.key, tenantId })
    const { key } = await tenant.apiKeys.create({ name: 'all', scopes: ['read', 'write', 'operate'] })
    const jobs = Array.from({ length: 20 }, (_, i) => ({
      key: `small-${i}`,
      name: `small ${i}`,
      schedule: '@yearly',
      execution: echo,
    }))
    const done = await apply(jobs, `--yes --key ${key}`)
    assert.equal(done.summary.create, 20)
  })

  await t.test('a hundred jobs are applied at once, and again without a change', async () => {
    const many = Array.from({ length: 100 }, (_, i) => ({
      key: `many-${i}`,
      name: `many ${i}`,
      schedule: '@yearly',
      execution: echo,
    }))
    const done = await apply(many)
    assert.equal(done.summary.create, 100)
    assert.equal((await apply(many)).summary.unchanged, 100)
  })
})
