// Which test files there are, in which run each of them is, and which share a process. `npm test` runs everything on
// PostgreSQL 18; `*.slow.test.ts` and the copies of tests on PostgreSQL 15 belong to `npm run test:rest`.
import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

export const root = join(import.meta.dirname, '..')

const workspaces = '{contract,server,sdk,cli,dashboard,tools}'
const slowSuffix = '.slow.test.ts'

/** Tests under these folders share a process with their neighbours: they change nothing that belongs to the process. */
const shared = /^[a-z]+\/src\/|^server\/test\/(chaos|races|policies|schedule|graphs|probe)\//
/** These start servers or PostgreSQL and wait for them most of the time. Each has a process of its own. */
const waiting =
  /^server\/test\/(e2e|processes|faults)\/|^server\/src\/embedded-postgres\/|^sdk\/test\/|^cli\/src\/(apply|doctor|executions|jobs|main|server-proof)\./
/** These take longest: they begin first, so that none of them is left alone at the end. */
const long = /^(server|sdk)\/test\/|^server\/src\/postgres\//
/** So many that a process takes seconds, not minutes. */
const filesPerProcess = 15

export function allTestFiles(): string[] {
  return globSync(`${workspaces}/**/*.test.ts`, {
    cwd: root,
    exclude: (path) => path.includes('node_modules'),
  })
    .map((path) => path.replaceAll('\\', '/'))
    .toSorted()
}

export const isSlow = (file: string): boolean => file.endsWith(slowSuffix)

/** Attacks that use much of the machine, and executions that have to start on time: nothing else runs beside them. */
export const runsAlone = (file: string): boolean => file.startsWith('server/test/exhaustion/')

/** Files that have tests for each version of PostgreSQL, by the list of versions or by a helper that goes through it. */
export function isForEachVersion(file: string): boolean {
  return mentionsVersions(file) || helpersOf(file).some(mentionsVersions)
}

function mentionsVersions(file: string): boolean {
  return /\bof POSTGRES_VERSIONS\b|\bPOSTGRES_VERSIONS\.includes\b/.test(read(file))
}

/** The files under test folders that it imports. */
function helpersOf(file: string): string[] {
  return [...read(file).matchAll(/ from '(\.[^']+\.tsx?)'/g)]
    .map(([, path]) => join(dirname(file), path!).replaceAll('\\', '/'))
    .filter((path) => path.includes('/test/'))
}

const texts = new Map<string, string>()
function read(file: string): string {
  let text = texts.get(file)
  if (text === undefined) {
    text = readFileSync(join(root, file), 'utf8')
    texts.set(file, text)
  }
  return text
}

/** Files that run in one process, a list for each process. Processes that mostly wait run beside busy ones. */
export function divide(files: readonly string[]): string[][] {
  const folders = Map.groupBy(files, (file) =>
    shared.test(file) && !waiting.test(file) ? folderOf(file) : file,
  )
  const lists = [...folders.values()].flatMap((together) => {
    const processes = Math.ceil(together.length / filesPerProcess)
    // Dealt out like cards: large files are often neighbours.
    return Array.from({ length: processes }, (_, i) => together.filter((_, j) => j % processes === i))
  })
  const { idle = [], busy = [] } = Object.groupBy(lists, ([file]) => (waiting.test(file!) ? 'idle' : 'busy'))
  return interleave(longFirst(idle), longFirst(busy))
}

function longFirst(lists: readonly string[][]): string[][] {
  return lists.toSorted(([a], [b]) => Number(long.test(b!)) - Number(long.test(a!)))
}

/** Both lists as one. The idle ones are spread over the first three quarters: some of them take a minute. */
function interleave<T>(idle: readonly T[], busy: readonly T[]): T[] {
  const at = (list: readonly T[], until: number) =>
    list.map((item, i) => ({ item, at: (i / list.length) * until }))
  return [...at(idle, 0.75), ...at(busy, 1)].toSorted((a, b) => a.at - b.at).map(({ item }) => item)
}

/** server/src/api/jobs/jobs.test.ts is in server/src/api, cli/src/table.test.ts in cli/src. */
function folderOf(file: string): string {
  return file
    .split('/')
    .slice(0, file.startsWith('server/') ? 3 : 2)
    .join('/')
}
