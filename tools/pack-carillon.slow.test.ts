// The package as a stranger gets it: installed from its tarball into an empty folder, far from the repository.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import test from 'node:test'
import { promisify } from 'node:util'
import { cleanUp } from '../server/test/cleanup.ts'
import { Program } from '../server/test/e2e/program.ts'

const root = join(import.meta.dirname, '..')
const run = promisify(execFile)

test('the packed carillon installs into an empty folder and works there: next, start, the dashboard', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'carillon-packed-'))
  cleanUp(t, () => rm(dir, { recursive: true, maxRetries: 10 }))
  const { stdout: tarball } = await run('npm', ['run', '-s', 'pack:carillon', '--', dir], { cwd: root })
  await writeFile(join(dir, 'package.json'), '{ "private": true }')
  const quick = ['--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error']
  await run('npm', ['install', ...quick, tarball.trim()], { cwd: dir })

  const command = join(dir, 'node_modules/.bin/carillon')
  // As a shell finds it that knows nothing of the repository.
  const path = process.env['PATH']!.split(delimiter).filter((one) => !one.includes('node_modules'))
  const env = { PATH: path.join(delimiter), HOME: dir }
  const next = await run(command, ['next', 'every weekday at 9:00 in London', '--json'], { cwd: dir, env })
  assert.equal(JSON.parse(next.stdout).schedule.cron_expression, '0 9 * * 1-5')

  const program = new Program(t, {
    command: [command, 'start'],
    // Empty counts as absent: it chooses the place itself.
    env: { PATH: env.PATH, CARILLON_DATA: '' },
    cwd: dir,
    dataDir: '',
  })
  const url = await program.ready()
  const ready = await fetch(`${url}/readyz`)
  assert.equal(ready.status, 200, await ready.text())
  const page = await (await fetch(url, { headers: { accept: 'text/html' } })).text()
  assert.match(page, /<script type="module"[^>]* src="\/assets\//)
  const guide = await (await fetch(`${url}/docs`, { headers: { accept: 'text/html' } })).text()
  assert.match(guide, /href="\/docs\/quickstart"/)
  // The data lies where it was started, not in node_modules, and the command finds the key there.
  assert.equal((await readFile(join(dir, '.carillon/api-key'), 'utf8')).trim(), program.key())
  const jobs = await run(command, ['jobs', 'list', '--url', url, '--json'], { cwd: dir, env })
  assert.deepEqual(JSON.parse(jobs.stdout).jobs, [])
  program.child.kill('SIGTERM')
  assert.equal(await program.exit, 0, program.said())
})
