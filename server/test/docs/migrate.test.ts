// Every job on docs/migrate.md is one that the API accepts, and the line that converts a crontab makes such jobs.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import test from 'node:test'
import { parse } from 'yaml'
import { defineJob } from '../../../sdk/src/define-job.ts'
import { checkoutDir } from '../../src/config/read.ts'
import { setupApp } from '../app.ts'

const page = await readFile(join(checkoutDir, 'docs/migrate.md'), 'utf8')
const blocks = [...page.matchAll(/^```(\w+)[^\n]*\n([\s\S]*?)^```$/gm)].map(([, language, code]) => ({
  language: language!,
  code: code!,
}))

interface JobInFile {
  key: string
  depends_on?: string[]
}

/** Creates the jobs of a file in their order, as `carillon apply` does. */
async function createJobs(
  call: Awaited<ReturnType<typeof setupApp>>['call'],
  file: string,
): Promise<string[]> {
  const { jobs } = parse(file) as { jobs: JobInFile[] }
  const ids = new Map<string, string>()
  for (const { key, depends_on, ...job } of jobs) {
    const after = depends_on?.map((one) => ({ job_id: ids.get(one) }))
    const body = after === undefined ? job : { ...job, depends_on: after }
    const answer = await call('PUT', `/jobs/by-key/${key}`, body)
    assert.equal(answer.statusCode, 201, `${key}: ${answer.body}`)
    ids.set(key, answer.json().job_id)
  }
  return [...ids.keys()]
}

test('the API accepts every job file of the page', async (t) => {
  const files = blocks.filter(({ language, code }) => language === 'yaml' && code.startsWith('jobs:'))
  assert.equal(files.length, 4)
  for (const { code } of files) {
    const { call } = await setupApp(t)
    await createJobs(call, code)
  }
})

test('the SDK accepts every function of the page', async () => {
  const functions = blocks.filter(({ code }) => code.startsWith('const digest = defineJob('))
  assert.equal(functions.length, 3)
  for (const { code } of functions) {
    const names = ['defineJob', 'createWorker', 'sendDigest', 'url', 'key']
    const define = new Function(...names, `return (async () => { ${code} return digest })()`)
    const job = await define(
      defineJob,
      async () => null,
      () => null,
      'http://127.0.0.1',
      'crl_x',
    )
    assert.equal(job.key, 'digest')
  }
})

const crontab = `# m h dom mon dow command
MAILTO=ops@example.com
30 2 * * 1-5 /usr/local/bin/backup.sh --full
@reboot /usr/local/bin/hello
0 0 1 * * /opt/Report_All  a  b
*/5 * * * * cd /srv && ./poll > /dev/null
0 4 * * * /usr/bin/say 'it is'
`

test('the line for a crontab makes jobs of plain lines, and leaves the others as comments', async (t) => {
  const line = blocks.find(({ code }) => code.startsWith('crontab -l'))!.code
  const script = line.replace('crontab -l', 'cat').replace(' > crontab.yaml', '')
  const { stdout, stderr, status } = spawnSync('sh', ['-c', script], { input: crontab, encoding: 'utf8' })
  assert.equal(status, 0, stderr)
  const { call } = await setupApp(t)
  assert.deepEqual(await createJobs(call, stdout), ['backup.sh-1', 'report_all-2'])
  const [second, first] = (await call('GET', '/jobs')).json().jobs
  assert.deepEqual(first.schedule.cron_expression, '30 2 * * 1-5')
  assert.equal(first.schedule.timezone, 'Europe/Berlin')
  assert.deepEqual(first.execution.args, ['--full'])
  assert.equal(second.execution.command, '/opt/Report_All')
  assert.deepEqual(second.execution.args, ['a', 'b'])
  assert.match(stdout, /# by hand: \*\/5 \* \* \* \* cd \/srv && \.\/poll/)
  assert.match(stdout, /# by hand: 0 4 \* \* \* \/usr\/bin\/say 'it is'/)
})
