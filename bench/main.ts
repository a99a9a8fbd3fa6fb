// npm run bench -- [NAME] [--quick] [--json]: measurements against servers of their own. Without a name all of them,
// one after the other, each in a process of its own; very long ones run by name only.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { parseArgs } from 'node:util'
import { say } from './output.ts'

/** Every one is a file here that exports `run`. */
const inAll = ['http', 'handlers', 'accuracy', 'adhoc', 'herd', 'scale', 'api', 'idle', 'graph']
/** Not in all of them with --quick: no goal is measured by them. */
const inWhole = ['idle', 'graph']
const byName = ['client', 'endurance', 'first-job', 'isolation', 'limited', 'screens', 'sdk', 'store']

export interface BenchOptions {
  /** Shorter and smaller, with rougher results. */
  quick: boolean
  /** The largest sizes too. */
  full: boolean
  /** For how long, where a bench asks for it. */
  minutes: number | null
}

const usage = `usage: npm run bench -- [NAME] [--quick] [--full] [--minutes N] [--json]
in all: ${inAll.join(', ')} (with --quick without ${inWhole.join(' and ')})
by name only: ${byName.join(', ')}`

const { name, options } = readArguments()
if (name === undefined) await runAll()
else {
  const { run } = (await import(`./${name}.ts`)) as { run: (options: BenchOptions) => Promise<void> }
  await run(options)
}

function readArguments(): { name: string | undefined; options: BenchOptions } {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        quick: { type: 'boolean', default: false },
        full: { type: 'boolean', default: false },
        json: { type: 'boolean', default: false },
        minutes: { type: 'string' },
      },
    })
    const [name, ...more] = positionals
    const minutes = values.minutes === undefined ? null : Number(values.minutes)
    if (more.length > 0) throw new Error('one name at a time')
    if (name !== undefined && ![...inAll, ...byName].includes(name))
      throw new Error(`there is no bench ${name}`)
    if (minutes !== null && !(minutes > 0)) throw new Error('--minutes: a number above 0')
    return { name, options: { quick: values.quick, full: values.full, minutes } }
  } catch (error) {
    console.error(`${(error as Error).message}\n${usage}`)
    process.exit(2)
  }
}

/** Failures are reported at the end: the results of the other benches are worth having all the same. */
async function runAll(): Promise<void> {
  const failed: string[] = []
  const names = options.quick ? inAll.filter((name) => !inWhole.includes(name)) : inAll
  for (const name of names) {
    say(`\n${name}`)
    const startedMs = performance.now()
    const child = spawn(process.execPath, [import.meta.filename, name, ...process.argv.slice(2)], {
      stdio: 'inherit',
    })
    const [code] = await once(child, 'exit')
    say(
      `${name}: ${code === 0 ? 'done' : 'failed'} after ${((performance.now() - startedMs) / 1_000).toFixed(0)} s`,
    )
    if (code !== 0) failed.push(name)
  }
  if (failed.length === 0) return
  say(`failed: ${failed.join(', ')}`)
  process.exitCode = 1
}
