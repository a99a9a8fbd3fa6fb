// `carillon jobs …` against a real server.
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'node:test'
import type { Job } from '@carillon/contract/job.ts'
import { createClient } from '@carillon/sdk'
import { cleanUp } from '../../server/test/cleanup.ts'
import { cli, type Server, startServer } from '../test/cli.ts'

const words = (text: string) => text.trim().split(/\s+/)

test('carillon jobs', async (t) => {
  const server = await startServer(t)
  const dir = await mkdtemp(join(tmpdir(), 'carillon-cli-'))
  cleanUp(t, () => rm(dir, { recursive: true }))
  const target = ['--callback-url', `${server.url}/echo`]
  const get = (name: string) => server.json<Job>(['jobs', 'get', name])

  await t.test('a list without jobs says how to make the first one', async () => {
    const { code, out, err } = await server.call(['jobs', 'list'], { columns: 80 })
    assert.deepEqual([code, out], [0, ''])
    assert.match(err, /carillon jobs create --name hello/)
  })

  await t.test('a job created by options has the values of the options', async () => {
    const { code, out } = await server.call([
      ...words(
        'jobs create --job-key nightly --zone Europe/Berlin --retries 5 --retry-delay 2s --tag a --tag b',
      ),
      ...words('--priority 3 --timeout 2m --overlap buffer-one --method put --metadata team=data'),
      ...['--name', 'Nightly report', '--schedule', 'every day at 2:00', '--payload', '{"full":true}'],
      ...['--header', 'X-Auth: secret', ...target],
    ])
    assert.equal(code, 0)
    assert.match(out, /^nightly is created: job \S{36}\n$/)
    const job = await get('nightly')
    assert.equal(job.name, 'Nightly report')
    assert.deepEqual([job.schedule!.cron_expression, job.schedule!.timezone], ['0 2 * * *', 'Europe/Berlin'])
    assert.deepEqual(job.execution.payload, { full: true })
    assert.deepEqual(job.execution.headers, { 'X-Auth': '***' })
    assert.deepEqual([job.execution.method, job.execution.timeout_seconds], ['PUT', 120])
    assert.deepEqual([job.retry_policy.max_retries, job.retry_policy.initial_delay_ms], [5, 2_000])
    assert.deepEqual([job.tags, job.priority, job.overlap_policy], [['a', 'b'], 3, 'BUFFER_ONE'])
    assert.deepEqual(job.metadata, { team: 'data' })
  })

  await t.test('a job is named by its key, its exact name or its id', async () => {
    const { job_id: id } = await get('nightly')
    assert.equal((await get('Nightly report')).job_id, id)
    assert.equal((await get(id)).job_id, id)
    const near = await server.call(['jobs', 'get', 'nihgtly'])
    assert.equal(near.code, 3)
    assert.match(near.err, /there is no job "nihgtly". Did you mean nightly\?/)
    assert.equal((await server.call(['jobs', 'get', '01941f29-7c00-7000-8000-000000000000'])).code, 3)
  })

  await t.test('two jobs with the same name are told apart by id or key', async () => {
    for (const key of ['twin-1', 'twin-2'])
      await server.json([...words(`jobs create --name twin --job-key ${key} --schedule @yearly`), ...target])
    const { code, err } = await server.call(['jobs', 'pause', 'twin'])
    assert.equal(code, 6)
    assert.match(err, /2 jobs are named "twin"[\s\S]*twin-1/)
    await server.json(words('jobs delete twin-1 twin-2 --yes'))
  })

  await t.test('a job is created from a file or from standard input; options come on top', async () => {
    const file = join(dir, 'job.yaml')
    await writeFile(
      file,
      `name: From a file\nschedule: "@daily"\nexecution: { callback_url: "${server.url}/echo" }\n`,
    )
    const { job } = await server.json<{ job: Job }>([
      ...words('jobs create --job-key filed --priority 2 -f'),
      file,
    ])
    assert.deepEqual([job.name, job.priority], ['From a file', 2])
    const stdin = JSON.stringify({
      name: 'piped',
      schedule: '@daily',
      execution: { type: 'worker', handler: 'h' },
    })
    const piped = await server.json<{ job: Job }>(words('jobs create -f - --job-key piped'), { stdin })
    assert.equal(piped.job.execution.handler, 'h')
  })

  await t.test('a job runs after others, named by key', async () => {
    await server.json([
      ...words('jobs create --name later --job-key later --after nightly:completion'),
      ...target,
    ])
    const [parent] = (await get('later')).depends_on
    assert.deepEqual(parent, { job_id: (await get('nightly')).job_id, on: 'completion' })
    await server.json(words('jobs delete later --yes'))
  })

  await t.test('an invalid job is refused with exit code 4 and the name of the wrong field', async () => {
    const wrong = await server.call([
      ...words('jobs create --name x --schedule @daily --priority 99'),
      ...target,
    ])
    assert.equal(wrong.code, 4)
    assert.match(wrong.err, /priority/)
    const schedule = await server.call([
      'jobs',
      'create',
      '--name',
      'x',
      '--schedule',
      '0 25 * * *',
      ...target,
    ])
    assert.equal(schedule.code, 4)
    assert.match(schedule.err, /hour/)
    assert.equal((await server.call(words('jobs create --name x --schedule @daily'))).code, 2)
    assert.equal((await server.call([...words('jobs create --schedule @daily'), ...target])).code, 2)
  })

  await t.test('edit by options changes the named fields and nothing else', async () => {
    const { code, out, err } = await server.call([
      'jobs',
      'edit',
      'nightly',
      '--schedule',
      '0 3 * * *',
      '--priority',
      '4',
    ])
    assert.equal(code, 0)
    assert.match(out, /nightly is changed: version 2/)
    assert.match(err, /schedule.cron_expression: "0 2 \* \* \*" -> "0 3 \* \* \*"/)
    const job = await get('nightly')
    assert.deepEqual([job.priority, job.retry_policy.max_retries], [4, 5])
    const same = await server.call(words('jobs edit nightly --priority 4'))
    assert.match(same.out, /Nothing has changed/)
    const dry = await server.call(words('jobs edit nightly --priority 5 --dry-run'))
    assert.match(dry.out, /would be changed/)
    assert.equal((await get('nightly')).priority, 4)
  })

  await t.test('edit opens the job in the editor and sends the changes made there', async () => {
    const editor = join(dir, 'editor.sh')
    await writeFile(editor, '#!/bin/sh\nsed -i "s/Nightly report/Nightly summary/; /^priority/d" "$1"\n', {
      mode: 0o755,
    })
    const { code, out } = await server.call(words('jobs edit nightly'), { env: { EDITOR: editor } })
    assert.equal(code, 0, out)
    const job = await get('nightly')
    assert.deepEqual([job.name, job.priority, job.version], ['Nightly summary', 5, 3])
    const untouched = await server.call(words('jobs edit nightly'), { env: { EDITOR: 'true' } })
    assert.match(untouched.out, /Nothing has changed/)
    const broken = await server.call(words('jobs edit nightly'), { env: { EDITOR: 'echo "execution: 5" >' } })
    assert.notEqual(broken.code, 0)
    const kept = /Your text is kept in (\S+)/.exec(broken.err)
    assert(kept !== null, broken.err)
    await rm(join(kept[1]!, '..'), { recursive: true })
  })

  await t.test('pause, resume and trigger act on jobs by name', async () => {
    assert.match(
      (await server.call(['jobs', 'pause', 'nightly', '--reason', 'It moves', '--until', '2h'])).out,
      /is paused until/,
    )
    const { pause } = await get('nightly')
    assert.equal(pause!.reason, 'It moves')
    assert(Math.abs(Date.parse(pause!.until!) - Date.now() - 7_200_000) < 60_000)
    assert.match((await server.call(words('jobs resume nightly'))).out, /is active; it runs next at \d{4}/)
    const triggered = await server.call([...words('jobs trigger nightly --wait --payload'), '{"a":1}'], {
      columns: 80,
    })
    assert.equal(triggered.code, 0, triggered.err)
    assert.match(triggered.err, /✓ succeeded/)
  })

  await t.test('a job is triggered many times at once', async () => {
    const { jobs } = await server.json<{ jobs: { execution_ids: string[] }[] }>([
      ...words('jobs trigger nightly --count 3 --payload'),
      '{"n":1}',
    ])
    assert.equal(jobs[0]!.execution_ids.length, 3)
    const all = await server.call(words('jobs trigger --all --count 3 --yes'))
    assert.equal(all.code, 2)
    assert.match(all.err, /--count needs named jobs/)
  })

  await t.test('waiting for an execution that fails ends with exit code 9', async () => {
    const flaky = ['--callback-url', `${server.url}/echo?status=500`, '--retries', '0', '--schedule', 'now']
    const { code, out } = await server.call([...words('jobs create --name fails --wait --json'), ...flaky])
    assert.equal(code, 9)
    assert.equal(JSON.parse(out).executions[0].status, 'FAILED')
  })

  await t.test('delete asks first, and does nothing without an answer', async () => {
    const alone = await server.call(words('jobs delete filed'))
    assert.equal(alone.code, 2)
    assert.match(alone.err, /Add --yes/)
    const no = await server.call(words('jobs delete filed'), { columns: 80, answer: 'n' })
    assert.equal(no.code, 130)
    assert.equal((await get('filed')).status, 'ACTIVE')
    const yes = await server.call(words('jobs delete filed'), { columns: 80, answer: 'y' })
    assert.equal(yes.code, 0, yes.err)
    assert.equal((await server.call(words('jobs get filed'))).code, 3)
  })

  await t.test('a filter acts on many at once: counted, asked, done', async () => {
    for (let i = 0; i < 12; i++)
      await server.json([...words(`jobs create --name many-${i} --schedule @yearly --tag many`), ...target])
    const dry = await server.call(words('jobs pause --filter tag=many --dry-run'))
    assert.match(dry.out, /Would pause 12 jobs with tag=many/)
    const asked = await server.call(words('jobs pause --filter tag=many'), { columns: 80, answer: 'n' })
    assert.match(asked.err, /Pause 12 jobs with tag=many\? \[y\/N\]/)
    const { operation } = await server.json<{ operation: { status: string; progress: { done: number } } }>(
      words('jobs pause --filter tag=many --yes'),
    )
    assert.deepEqual([operation.status, operation.progress.done], ['COMPLETED', 12])
    const paused = await server.json<{ jobs: Job[] }>(words('jobs list --status paused --tag many'))
    assert.equal(paused.jobs.length, 12)
    assert.match((await server.call(words('jobs delete --filter tag=many --yes'))).out, /Done: 12 of 12/)
    assert.match((await server.call(words('jobs delete --filter tag=many --yes'))).out, /Nothing to do/)
    assert.match((await server.call(words('jobs pause --filter tga=many'))).err, /Did you mean tag\?/)
    const operations = await server.json<{ operations: object[] }>(words('operations list'))
    assert.equal(operations.operations.length, 2)
  })

  await lists(server, t)
})

async function lists(server: Server, t: test.TestContext): Promise<void> {
  await t.test('a list fits a terminal of 80 columns and is whole in a pipe', async () => {
    const { out } = await server.call(words('jobs list'), { columns: 80 })
    const lines = out.trimEnd().split('\n')
    assert.match(lines[0]!, /^KEY +NAME +STATUS +LAST RESULT +SCHEDULE +NEXT RUN/)
    for (const line of lines) assert(line.length <= 80, line)
    const piped = await server.call(words('jobs list'))
    for (const line of piped.out.trimEnd().split('\n')) assert.match(line, /^\S{36}\t/)
    assert.equal(piped.err, '')
  })

  await t.test('a list goes on where it ended', async () => {
    type Page = { jobs: Job[]; pagination: { next_cursor: string | null } }
    const all = await server.json<Page>(words('jobs list --limit 500'))
    assert.equal(all.pagination.next_cursor, null)
    const first = await server.json<Page>(words('jobs list -n 1'))
    const rest = await server.json<Page>(['jobs', 'list', '--cursor', first.pagination.next_cursor!])
    assert.deepEqual(
      [...first.jobs, ...rest.jobs].map(({ job_id: id }) => id),
      all.jobs.map(({ job_id: id }) => id),
    )
  })

  await t.test('--watch shows it again until it is interrupted', async () => {
    const stop = new AbortController()
    const seen = (all: string) => {
      if (all.split('\n').length > 2) stop.abort()
    }
    const call = { signal: stop.signal, onOut: seen }
    const { code, out } = await server.call(words('jobs get nightly --watch 0.2 --json'), call)
    assert.equal(code, 130)
    const [first, second] = out.trim().split('\n')
    assert.equal(JSON.parse(first!).key, 'nightly')
    assert.equal(JSON.parse(second!).key, 'nightly')
  })

  await t.test('an operator acts for a tenant, by name or id', async () => {
    const client = createClient({ url: server.url, key: server.key })
    const { tenant_id: id } = await client.tenants.create({ name: 'sales' })
    const made = words(
      'jobs create --tenant sales --name theirs --job-key theirs --schedule @yearly --callback-url',
    )
    await server.json([...made, `${server.url}/echo`])
    const { jobs } = await server.json<{ jobs: Job[] }>(['jobs', 'list', '--tenant', id])
    assert.deepEqual(
      jobs.map(({ key }) => key),
      ['theirs'],
    )
    assert.equal((await server.call(words('jobs get theirs'))).code, 3)
    assert.match((await server.call(words('jobs list --tenant slaes'))).err, /Did you mean sales\?/)
  })

  await t.test('exit codes tell the cause', async () => {
    assert.equal((await server.call(words('jobs list --key wrong'))).code, 5)
    assert.equal((await server.call(words('jobs list --tenant nobody'))).code, 3)
    const away = await cli(words('jobs list --url http://127.0.0.1:1 --key crl_x'))
    assert.equal(away.code, 7)
    assert.match(away.err, /No answer from http:\/\/127\.0\.0\.1:1/)
    const keyless = await cli(words('jobs list --url http://198.51.100.1'), {
      env: { CARILLON_DATA: server.dataDir },
    })
    assert.equal(keyless.code, 5, 'the key of the local server is not sent to strangers')
  })
}
