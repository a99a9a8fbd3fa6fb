// Programs of this machine that run the examples of the docs, and the examples themselves.
import { execFile, spawnSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { promisify } from 'node:util'
import { cleanUp } from '../cleanup.ts'

const run = promisify(execFile)

/** The command that runs a file, and how one asks whether it is there. */
const languages = {
  sh: { title: 'curl', file: 'example.sh', command: ['bash'], check: ['curl', '--version'] },
  ts: {
    title: 'TypeScript',
    file: 'example.mts',
    command: [process.execPath, '--no-warnings'],
    check: [process.execPath, '-v'],
  },
  python: { title: 'Python', file: 'example.py', command: ['python3'], check: ['python3', '--version'] },
  go: { title: 'Go', file: 'example.go', command: ['go', 'run'], check: ['go', 'version'] },
} as const

export type Language = keyof typeof languages

/** The languages that are on this machine; the others are named in the report of the test. */
export function languagesHere(t: TestContext, wanted: readonly Language[]): Language[] {
  const isHere = (language: Language) => {
    const [command, ...options] = languages[language].check
    return spawnSync(command, options).status === 0
  }
  const found = wanted.filter(isHere)
  for (const language of wanted.filter((one) => !found.includes(one)))
    t.diagnostic(`${languages[language].title} is not on this machine: its examples were not run`)
  return found
}

export async function makeFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'carillon-examples-'))
  cleanUp(t, () => rm(folder, { recursive: true, maxRetries: 10 }))
  return folder
}

/** Runs the code as a file in the folder, and returns its output. Go gets nothing from the network. */
export async function runCode(
  folder: string,
  language: Language,
  code: string,
  env: Readonly<Record<string, string>>,
): Promise<string> {
  const { file, command } = languages[language]
  await writeFile(join(folder, file), `${code}\n`)
  const [program, ...options] = [...command, join(folder, file)] as [string, ...string[]]
  const settings = { ...process.env, GOTOOLCHAIN: 'local', GOPROXY: 'off', ...env }
  return (await run(program, options, { env: settings, cwd: folder })).stdout
}
