// Directories for the data of a server or of PostgreSQL: in memory where there is enough of it, and with PostgreSQL
// initialised and our schema in it unless a test wants to see a first start, which takes a second and a half of CPU time.
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { promisify } from 'node:util'
import { cleanUp } from './cleanup.ts'

const templateVariable = 'TEST_DATA_TEMPLATE'
const freeBytesMin = 4 * 1024 ** 3

export async function makeTemporaryDir(name: string): Promise<string> {
  const memory = '/dev/shm'
  const freeBytes = await statfs(memory).then(
    ({ bavail, bsize }) => bavail * bsize,
    () => 0,
  )
  return mkdtemp(join(freeBytes > freeBytesMin ? memory : tmpdir(), name))
}

/** Of a server that was started before. */
export async function makeDataDir(t: TestContext): Promise<string> {
  const dir = await makeEmptyDataDir(t)
  const template = process.env[templateVariable]
  if (template === undefined) throw new Error('run tests with: npm test -- FILE')
  await mkdir(dir, { mode: 0o700 })
  await copyPostgres(template, dir)
  return dir
}

/** Of a server that starts for the first time: not there yet. */
export async function makeEmptyDataDir(t: TestContext): Promise<string> {
  const dir = await makeTemporaryDir('carillon-data-')
  cleanUp(t, () => rm(dir, { recursive: true, maxRetries: 10 }))
  return join(dir, 'data')
}

/** Makes tests start from copies of this directory. No server may be running in it. */
export async function setTemplate(from: string, to: string): Promise<void> {
  await copyPostgres(from, to)
  process.env[templateVariable] = to
}

/** With owner and permissions. */
export async function copyPostgres(from: string, to: string): Promise<void> {
  await promisify(execFile)('cp', ['-a', join(from, 'pg'), to])
}
