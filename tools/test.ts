// `npm test`: type check, lint, tidy, then the tests of every workspace on a real PostgreSQL 18. `npm run test:rest`:
// all else, which takes longer: PostgreSQL 15, `*.slow.test.ts`, a real Chromium. `npm run test:all`: both.
// `npm test -- FILE…` runs only the given test files, on both versions. The last line is `N passed, N failed`.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { prepareDashboard } from '@carillon/server/process/build-dashboard.ts'
import { writeEntry } from './test-entry.ts'
import { allTestFiles, divide, isForEachVersion, isSlow, root, runsAlone } from './test-files.ts'

interface Counts {
  passed: number
  failed: number
}

interface TestRun {
  /** Each list in a process of its own. */
  files: readonly string[][]
  concurrency: number
  versions?: string
  pattern?: string
}

// Every process would strip and compile the same files again.
const env = { NODE_COMPILE_CACHE: join(root, 'node_modules', '.cache', 'compiled'), ...process.env }
const scratch = mkdtempSync(join(tmpdir(), 'carillon-tests-'))
const countsFile = join(scratch, 'counts')

function run(args: string[], more: Record<string, string> = {}): boolean {
  const options = { cwd: root, env: { ...env, ...more }, stdio: 'inherit' } as const
  return spawnSync(process.execPath, args, options).status === 0
}

/** One check of the sources; its output is printed when it has ended. */
async function check(name: string, args: string[]): Promise<boolean> {
  const startedMs = performance.now()
  const child = spawn(process.execPath, args, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk))
  const [code] = await once(child, 'close')
  console.log(`${output}${code === 0 ? '✔' : '✖'} ${name} (${seconds(startedMs)} s)`)
  return code === 0
}

const seconds = (startedMs: number): string => ((performance.now() - startedMs) / 1_000).toFixed(1)

const bin = (name: string) => join(root, 'node_modules', '.bin', name)

async function checkSources(): Promise<Counts> {
  const passed = await Promise.all([
    check('type check', [bin('tsc'), '-p', '.']),
    check('type check of the dashboard', [bin('tsc'), '-p', 'dashboard']),
    check('lint', [bin('biome'), 'check', '--error-on-warnings', '.']),
    check('tidy', ['tools/tidy.ts']),
  ])
  return { passed: 0, failed: passed.filter((isPassed) => !isPassed).length }
}

function readCounts(): string {
  return existsSync(countsFile) ? readFileSync(countsFile, 'utf8') : ''
}

/** How many tests a run counted. A run that fails without a failed test, or without a count, counts as one failure. */
function counted(args: string[], more: Record<string, string>): Counts {
  rmSync(countsFile, { force: true })
  const isWell = run(args, more)
  const [, passed, failed] = /^(\d+) passed, (\d+) failed$/m.exec(readCounts()) ?? []
  if (passed === undefined) return { passed: 0, failed: 1 }
  return { passed: Number(passed), failed: isWell ? Number(failed) : Math.max(1, Number(failed)) }
}

function runTests(name: string, { files, concurrency, versions, pattern }: TestRun): Counts {
  const startedMs = performance.now()
  const dir = join(scratch, name.replaceAll(' ', '-'))
  mkdirSync(dir)
  const entries = files.map((together, i) =>
    writeEntry(dir, `${String(i).padStart(3, '0')}-${together[0]!.replaceAll('/', '-')}`, together),
  )
  const counts = counted(
    [
      '--test',
      '--test-global-setup=server/test/global.ts',
      `--test-concurrency=${concurrency}`,
      '--test-timeout=120000',
      ...(pattern === undefined ? [] : [`--test-name-pattern=${pattern}`]),
      '--test-reporter=spec',
      '--test-reporter-destination=stdout',
      '--test-reporter=./tools/closing-line.ts',
      `--test-reporter-destination=${countsFile}`,
      ...entries,
    ],
    versions === undefined ? {} : { CARILLON_TEST_POSTGRES: versions },
  )
  console.log(`${name}: ${counts.passed} passed, ${counts.failed} failed, ${seconds(startedMs)} s\n`)
  return counts
}

// Once for all the servers that tests start, which would otherwise each build it.
async function buildDashboard(): Promise<void> {
  await prepareDashboard({
    signal: new AbortController().signal,
    onBuild: () => console.log('Building the dashboard …'),
    onFailure: (reason) => console.log(`✖ the dashboard could not be built: ${reason}`),
  })
}

/** Compiles the program into the cache, once for the servers of tests: many of them are killed and would leave nothing there. */
async function compileProgram(): Promise<void> {
  const entries = ['server/src/process/main.ts', 'cli/src/run.ts', 'sdk/src/sdk.ts']
  const code = entries.map((file) => `await import('${pathToFileURL(join(root, file))}')`).join('\n')
  await once(
    spawn(process.execPath, ['--input-type=module', '-e', code], { cwd: root, env, stdio: 'inherit' }),
    'close',
  )
}

async function runMost(): Promise<Counts> {
  const [wrong] = await Promise.all([checkSources(), compileProgram()])
  if (wrong.failed > 0) return wrong
  await buildDashboard()
  const files = divide(allTestFiles().filter((file) => !isSlow(file)))
  return runTests('PostgreSQL 18', { files, concurrency: 5, versions: '18' })
}

async function runRest(): Promise<Counts> {
  await buildDashboard()
  const older = divide(allTestFiles().filter((file) => isForEachVersion(file)))
  const slow = allTestFiles().filter(isSlow)
  const slowFiles = (alone: boolean) => slow.filter((file) => runsAlone(file) === alone).map((file) => [file])
  return add(
    runTests('PostgreSQL 15', { files: older, concurrency: 2, versions: '15', pattern: 'PostgreSQL 15' }),
    runTests('slow tests', { files: slowFiles(false), concurrency: 2, versions: '18' }),
    runTests('exhaustion tests', { files: slowFiles(true), concurrency: 1, versions: '18' }),
    counted(['tools/test-browser.ts'], { CARILLON_TEST_COUNTS: countsFile }),
  )
}

function runGiven(given: readonly string[]): Counts {
  const files = given.flatMap((path) => globSync(path, { cwd: root }))
  if (files.length === 0) throw new Error(`there is no ${given.join(' ')}`)
  return runTests('given files', { files: files.map((file) => [file]), concurrency: 2 })
}

function add(...all: readonly Counts[]): Counts {
  const sum = (of: keyof Counts) => all.reduce((total, one) => total + one[of], 0)
  return { passed: sum('passed'), failed: sum('failed') }
}

const [mode, ...given] = process.argv.slice(2)
let total: Counts
try {
  if (mode === '--rest') total = await runRest()
  else if (mode === '--all') total = add(await runMost(), await runRest())
  else if (mode !== undefined) total = runGiven([mode, ...given])
  else total = await runMost()
} finally {
  rmSync(scratch, { recursive: true, force: true })
}
// CI reads the last line.
console.log(`${total.passed} passed, ${total.failed} failed`)
process.exit(total.failed === 0 && total.passed > 0 ? 0 : 1)
