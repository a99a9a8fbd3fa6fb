// The dashboard that this process serves: built at start when it is missing or older than its sources, if the sources
// are present. An installed package contains a build. The server starts despite any failure here: the page then says
// why.
import { spawn } from 'node:child_process'
import { mkdir, mkdtemp, readdir, rename, rm, stat, utimes } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'
import type { Dashboard } from '../api/http/dashboard.ts'
import { readDashboard, withoutDashboard } from './dashboard-files.ts'

export interface BuildOptions {
  signal: AbortSignal
  /** It takes some seconds from here. */
  onBuild: () => void
  /** In one line. */
  onFailure: (reason: string) => void
  /** Default: where the package is. */
  dir?: string
}

const buildMsMax = 120_000
const saidMax = 10_000
const reasonLengthMax = 300

export async function prepareDashboard(options: BuildOptions): Promise<Dashboard> {
  const { signal, onBuild, onFailure } = options
  const dir = options.dir ?? dirname(fileURLToPath(import.meta.resolve('@carillon/dashboard/package.json')))
  let problem = 'it is not built.'
  try {
    const sources = await newestSource(dir)
    if (sources !== null && sources > (await modifiedMs(join(dir, 'dist', 'index.html')))) {
      onBuild()
      return await build(dir, sources, signal)
    }
  } catch (error) {
    problem = oneLine((error as Error).message)
    if (!signal.aborted) onFailure(problem)
  }
  try {
    return await readDashboard(join(dir, 'dist'))
  } catch {
    return withoutDashboard(problem)
  }
}

/** When anything that the build reads was changed last; null: there is nothing to build from. */
async function newestSource(dir: string): Promise<number | null> {
  if ((await modifiedMs(join(dir, 'vite.config.ts'))) === 0) return null
  const top = (await readdir(dir)).filter((name) => !['dist', 'node_modules', 'test'].includes(name))
  const trees = [...top.map((name) => join(dir, name)), join(dir, '..', 'contract', 'src')]
  return Math.max(...(await Promise.all(trees.map(newestIn))))
}

/** Directories count: a file that went is a change too. */
async function newestIn(path: string): Promise<number> {
  const names = await readdir(path, { recursive: true }).catch(() => [])
  const all = await Promise.all([path, ...names.map((name) => join(path, name))].map(modifiedMs))
  return all.reduce((newest, ms) => Math.max(newest, ms), 0)
}

/** 0: there is no such file. */
async function modifiedMs(path: string): Promise<number> {
  return stat(path).then(
    ({ mtimeMs }) => Math.floor(mtimeMs),
    () => 0,
  )
}

/**
 * Built beside and put into place whole: another start may be serving, or building, the same. Read before that, since
 * another start may be putting its own into place just then.
 */
async function build(dir: string, sourcesMs: number, signal: AbortSignal): Promise<Dashboard> {
  await mkdir(join(dir, 'node_modules'), { recursive: true })
  const beside = await mkdtemp(join(dir, 'node_modules', '.build-'))
  const made = join(beside, 'made')
  try {
    await runVite(dir, relative(dir, made), signal)
    // Dated like its sources at the time of the check: an edit made meanwhile counts as newer.
    await utimes(join(made, 'index.html'), sourcesMs / 1_000, sourcesMs / 1_000)
    const dashboard = await readDashboard(made)
    await rename(join(dir, 'dist'), join(beside, 'former')).catch(() => {})
    // If it is there again, somebody else was faster, and theirs is as good.
    await rename(made, join(dir, 'dist')).catch(ignoreTaken)
    return dashboard
  } finally {
    await rm(beside, { recursive: true, force: true })
  }
}

function ignoreTaken(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error
}

async function runVite(dir: string, outDir: string, signal: AbortSignal): Promise<void> {
  const manifest = createRequire(join(dir, 'package.json')).resolve('vite/package.json')
  const vite = join(dirname(manifest), 'bin', 'vite.js')
  const args = [vite, 'build', '--outDir', outDir, '--emptyOutDir', '--logLevel', 'warn']
  const child = spawn(process.execPath, args, {
    cwd: dir,
    stdio: ['ignore', 'ignore', 'pipe'],
    signal,
    timeout: buildMsMax,
  })
  let said = ''
  child.stderr!.on('data', (chunk: Buffer) => {
    if (said.length < saidMax) said += chunk
  })
  await new Promise<void>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, killedBy) => {
      if (code === 0) resolve()
      else reject(new Error(said.trim() || `the build ended with ${killedBy ?? `code ${code}`}.`))
    })
  })
}

/** Skips the headlines of Vite and returns the error and its location. */
function oneLine(text: string): string {
  const lines = stripVTControlCharacters(text)
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !/^✗|^error during build|^Build failed/i.test(line))
  const [what = 'the build failed.', where = ''] = lines
  const place = /\[ (\S+:\d+:\d+) \]/.exec(where)?.[1]
  return (place === undefined ? what : `${what} (${place})`).slice(0, reasonLengthMax)
}
