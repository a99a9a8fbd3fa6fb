// Every command of the README, the quickstart and the recipes, as a reader would run it: in order, in a directory that looks like a clone,
// against a server that `npm start` of the same page has started. Only the port is another one.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { type TestContext } from 'node:test'
import { checkoutDir } from '../../src/config/read.ts'
import { cleanUp } from '../cleanup.ts'
import { Program } from './program.ts'

/** Commands that install or test everything: done by the runner of this test. */
const left = /^npm (ci|test)$/

/**
 * The output that some commands of a block must print. Each block has at least one, so a new block does not go unread.
 */
const expected: readonly (readonly [command: string, says: RegExp])[] = [
  ['jobs create --name Hello', /hello is created: job [0-9a-f-]{36}\nIt runs next at /],
  ['jobs trigger hello --wait', /hello is triggered: .*\n.*succeeded in /],
  ['executions list --job hello', /\tHello\tSUCCEEDED\t/],
  ['jobs get hello', /status\tACTIVE/],
  ['next "every weekday at 9:30 in London"', /At 09:30 on Monday to Friday, Europe\/London time\./],
  ['next "0 2 * * *" --zone America/New_York', /T02:00:00-0[45]:00/],
  ['jobs create --name Again', /Would be created; it would run next at /],
  ['/echo?status=503&delay_ms', /"method":"POST".*"body":"hello"/],
  ['/readyz', /"status":"ready"/],
  ['carillon status', /ready {2}Carillon/],
  ['jobs trigger report', /It failed, as expected\.[\s\S]*report is changed: version 2[\s\S]*Done: 1 of 1\./],
  ['--after extract', /load is created/],
  ['jobs trigger extract --wait', /extract is triggered: .*\n.*succeeded in /],
  ['apply -f jobs.yaml', /No changes: 3 unchanged\./],
  ['jobs delete hello', /hello is deleted\./],
  ['cat > backup.sh', /backup\.sh and jobs\.ts are there\./],
  ['jobs trigger backup --wait', /backup is triggered: .*\n.*succeeded in /],
  ['CARILLON_SIGNING_KEY=', /^whsec_$/m],
  ['--after backup:failure', /backup-failed is created/],
  ['executions logs', /looking for old sessions/],
  ['apply -f holidays.yaml', /Applied: 2 created/],
  ['jobs trigger resize --count 5 --wait', /5 executions? |succeeded/],
  ['jobs delete remind-ada', /remind-ada is created[\s\S]*remind-ada is deleted\./],
  ['apply -f report.yaml', /5 to create[\s\S]*list is triggered: .*\n.*succeeded in /],
  ['--job-key pay-out', /pay-out is created/],
  ['carillon export >', /No changes: /],
  ['for customer in', /invoice-initech[\s\S]*invoice-acme[\s\S]*Done: 3 of 3\./],
  ['/backfill', /"kind":"backfill"|"operation_id"/],
]

function blocksOf(page: string): string[] {
  return [...page.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map((match) => match[1]!.trim())
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}

/** Starts an installed command as npx does, without the 0.4 s of CPU that npx takes for it; bench/newcomer.ts tries npx itself. */
const npx = `#!/bin/sh
command=$1
shift
exec "node_modules/.bin/$command" "$@"
`

/** All of the checkout but its data. */
async function makeClone(t: TestContext): Promise<string> {
  const clone = await mkdtemp(join(tmpdir(), 'carillon-docs-'))
  cleanUp(t, () => rm(clone, { recursive: true, maxRetries: 10 }))
  // Open to the user that commands of a server of root run as.
  await chmod(clone, 0o755)
  for (const name of await readdir(checkoutDir)) {
    if (name !== '.carillon' && name !== '.git' && name !== 'jobs.yaml')
      await symlink(join(checkoutDir, name), join(clone, name))
  }
  await writeFile(join(clone, 'npx'), npx, { mode: 0o755 })
  return clone
}

/** With the port of this test; a message to Slack goes to /echo. */
function forTest(block: string, port: string): string {
  return block
    .replaceAll('127.0.0.1:7420', `127.0.0.1:${port}`)
    .replace(/https:\/\/hooks\.slack\.com\/\S+/g, `http://127.0.0.1:${port}/echo`)
}

async function runBlock(block: string, cwd: string, env: Record<string, string>): Promise<string> {
  // The blocks of a page are pasted into one terminal: variables stay.
  const terminal = '.terminal'
  const script = `set -a; if [ -f ${terminal} ]; then . ./${terminal}; fi\n${block}\nexport -p > ${terminal}`
  const shell = spawn('bash', ['-euo', 'pipefail', '-c', script], {
    cwd,
    env: { ...process.env, ...env, PATH: `${cwd}:${process.env['PATH']}` },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  shell.stdout.on('data', (chunk: Buffer) => (said += chunk))
  shell.stderr.on('data', (chunk: Buffer) => (said += chunk))
  const [code] = await once(shell, 'close')
  assert.equal(code, 0, `${block}\nsaid:\n${said}`)
  return said
}

for (const page of ['README.md', 'docs/quickstart.md', 'docs/recipes.md']) {
  test(`every command of ${page} prints the documented output`, { timeout: 600_000 }, async (t) => {
    const clone = await makeClone(t)
    const port = String(await freePort())
    const dataDir = join(clone, '.carillon')
    await mkdir(dataDir, { mode: 0o700 })
    const env = { CARILLON_PORT: port, CARILLON_DATA: dataDir, CARILLON_PROCESSES: '1' }
    const blocks = blocksOf(await readFile(join(checkoutDir, page), 'utf8'))
    let isStarted = false
    for (const text of blocks) {
      const lines = text.split('\n').filter((line) => !left.test(line))
      const starts = lines.filter((line) => /^(\w+="[^"]*" )*npm start/.test(line))
      for (const line of starts) {
        // The first one stays; another one is looked at, beside it.
        const own = isStarted ? { CARILLON_PORT: '0', CARILLON_DATA: join(clone, 'other') } : {}
        const program = new Program(t, {
          command: ['bash', '-c', `cd ${clone} && ${line.replace('npm start', 'exec npm start')}`],
          dataDir,
          env: { ...env, ...own },
        })
        await program.ready()
        if (line.includes('--demo')) assert.match(program.stdout, /Demo: 40 jobs/)
        if (isStarted) program.child.kill('SIGTERM')
        if (isStarted) await program.exit
        isStarted = true
      }
      const block = lines.filter((line) => !starts.includes(line)).join('\n')
      if (block.trim() === '') continue
      assert(isStarted || !/npx carillon|curl/.test(block), `${page} needs npm start before\n${block}`)
      const said = await runBlock(forTest(block, port), clone, env)
      const met = expected.filter(([command]) => block.includes(command))
      assert(met.length > 0, `nothing is expected of:\n${block}`)
      for (const [, says] of met) assert.match(said, says, block)
    }
    assert(isStarted)
  })
}
