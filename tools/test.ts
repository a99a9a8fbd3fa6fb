// `npm test`: type check, lint, tidy, then every test of every workspace on a real PostgreSQL.
// `npm test -- FILE…` runs only the given test files.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { prepareDashboard } from '@carillon/server/process/build-dashboard.ts'

const root = join(import.meta.dirname, '..')
const files = process.argv.slice(2)

// Every test file is a process of its own, and starts servers besides: each would strip and compile the same files again.
const env = { NODE_COMPILE_CACHE: join(root, 'node_modules', '.cache', 'compiled'), ...process.env }

function run(args: string[]): boolean {
  return spawnSync(process.execPath, args, { cwd: root, env, stdio: 'inherit' }).status === 0
}

function check(name: string, args: string[]): boolean {
  const startedMs = performance.now()
  const passed = run(args)
  const tookS = ((performance.now() - startedMs) / 1_000).toFixed(1)
  console.log(`${passed ? '✔' : '✖'} ${name} (${tookS} s)`)
  return passed
}

const bin = (name: string) => join(root, 'node_modules', '.bin', name)
const checks = [
  () => check('type check', [bin('tsc'), '-p', '.']),
  () => check('type check of the dashboard', [bin('tsc'), '-p', 'dashboard']),
  () => check('lint', [bin('biome'), 'check', '--error-on-warnings', '.']),
  () => check('tidy', ['tools/tidy.ts']),
]
const failed = files.length > 0 ? 0 : checks.filter((passes) => !passes()).length
if (failed > 0) {
  console.log(`\n0 passed, ${failed} failed`)
  process.exit(1)
}

// Once for all the servers that tests start, which would otherwise each build it.
if (files.length === 0) {
  await prepareDashboard({
    signal: new AbortController().signal,
    onBuild: () => console.log('Building the dashboard …'),
    onFailure: (reason) => console.log(`✖ the dashboard could not be built: ${reason}`),
  })
}

// The closing line must be the last one, so nothing is said after this.
const passed = run([
  '--test',
  '--test-global-setup=server/test/global.ts',
  '--test-concurrency=2',
  '--test-timeout=120000',
  '--test-reporter=spec',
  '--test-reporter-destination=stdout',
  '--test-reporter=./tools/closing-line.ts',
  '--test-reporter-destination=stdout',
  ...(files.length > 0 ? files : ['{contract,server,sdk,cli,dashboard,tools}/**/*.test.ts']),
])
process.exit(passed ? 0 : 1)
