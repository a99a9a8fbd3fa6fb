// `npm test`: type check, lint, tidy, then every test of every workspace on a real PostgreSQL.
// `npm test -- FILE…` runs only the given test files.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')
const files = process.argv.slice(2)

function run(name: string, command: string, args: string[]): boolean {
  const startedMs = performance.now()
  const { status } = spawnSync(command, args, { cwd: root, stdio: 'inherit' })
  const tookS = ((performance.now() - startedMs) / 1_000).toFixed(1)
  console.log(`${status === 0 ? '✔' : '✖'} ${name} (${tookS} s)`)
  return status === 0
}

const bin = (name: string) => join(root, 'node_modules', '.bin', name)
const checks = [
  () => run('type check', process.execPath, [bin('tsc'), '-p', '.']),
  () => run('lint', process.execPath, [bin('biome'), 'check', '--error-on-warnings', '.']),
  () => run('tidy', process.execPath, ['tools/tidy.ts']),
]
const failed = files.length > 0 ? 0 : checks.filter((check) => !check()).length
if (failed > 0) {
  console.log(`\n0 passed, ${failed} failed`)
  process.exit(1)
}

const passed = run('tests', process.execPath, [
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
