// npm run chaos: real processes under every fault, judged from outside.
import { parseArgs } from 'node:util'
import { KIND_NAMES, type KindName } from './faults.ts'
import { toJson, toTable } from './report.ts'
import { type ChaosOptions, type Progress, runChaos } from './run.ts'

const ratePerSecondDefault = 60
const usage = `usage: npm run chaos -- [--minutes M] [--seed S] [--kinds A,B] [--rate N] [--keep] [--json]

Starts PostgreSQL, three schedulers, three workers and two APIs as real processes, gives them work, and does to them
what the seed draws: kills, pauses, cuts, full disks, wrong clocks. Then an independent checker reads the tables, the
receiver's log and the history of the API, and says what was lost, doubled, early or stuck. Exits with 1 on any violation.

  --minutes M   how long faults come, 1 to 600 (20)
  --seed S      draws the work and the faults, a whole number (drawn)
  --kinds A,B   only these faults: ${KIND_NAMES.join(', ')}
  --rate N      executions a second, about, 1 to 500 (${ratePerSecondDefault})
  --keep        keeps the logs, the evidence and PostgreSQL's data
  --json        the last line is JSON
`

const stopping = new AbortController()
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(name, () => {
    // The guard cleans up after a user that does not want to wait.
    if (stopping.signal.aborted) process.exit(130)
    process.stderr.write('\nstopping; once more to stop at once\n')
    stopping.abort(new Error('stopped'))
  })
}

const started = readArguments()
if (typeof started === 'string') {
  process.stderr.write(started)
  process.exit(started === usage ? 0 : 2)
}
const { json, ...options } = started
process.stdout.write(`seed ${options.seed}\n`)
try {
  const report = await runChaos({
    ...options,
    judgesBounds: true,
    signal: stopping.signal,
    say,
    onProgress: showProgress,
  })
  const only = process.argv.includes('--kinds') ? ` --kinds ${options.kinds.join(',')}` : ''
  const rate = options.ratePerSecond === ratePerSecondDefault ? '' : ` --rate ${options.ratePerSecond}`
  const command = `npm run chaos -- --minutes ${options.minutes} --seed ${options.seed}${rate}${only}`
  process.stdout.write(`\n${toTable(report, command).join('\n')}\n`)
  if (json) process.stdout.write(`${JSON.stringify(toJson(report))}\n`)
  process.exit(report.violations.length === 0 ? 0 : 1)
} catch (error) {
  if (stopping.signal.aborted) process.exit(130)
  process.stderr.write(`${(error as Error).stack}\n`)
  process.exit(2)
}

type Started = Pick<ChaosOptions, 'seed' | 'minutes' | 'kinds' | 'ratePerSecond' | 'keep'> & { json: boolean }

/** Returns a text instead when the program should print it and exit. */
function readArguments(): Started | string {
  try {
    const { values } = parseArgs({
      options: {
        minutes: { type: 'string', default: '20' },
        seed: { type: 'string', default: String(Math.floor(Math.random() * 1_000_000)) },
        kinds: { type: 'string', default: KIND_NAMES.join(',') },
        rate: { type: 'string', default: String(ratePerSecondDefault) },
        keep: { type: 'boolean', default: false },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    })
    if (values.help) return usage
    return {
      minutes: readNumber('--minutes', values.minutes, 1, 600),
      seed: readNumber('--seed', values.seed, 0, 2 ** 31),
      ratePerSecond: readNumber('--rate', values.rate, 1, 500),
      kinds: values.kinds.split(',').map(readKind),
      keep: values.keep,
      json: values.json,
    }
  } catch (error) {
    return `${(error as Error).message}\n\n${usage}`
  }
}

function readNumber(name: string, text: string, min: number, max: number): number {
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN
  if (!(value >= min && value <= max))
    throw new Error(`${name} is a whole number from ${min} to ${max}, not ${text}`)
  return value
}

function readKind(text: string): KindName {
  const found = KIND_NAMES.find((name) => name === text.trim())
  if (found === undefined)
    throw new Error(`${text} is not a kind of fault; they are: ${KIND_NAMES.join(', ')}`)
  return found
}

function say(line: string): void {
  if (process.stdout.isTTY) process.stdout.write('\r\x1b[K')
  process.stdout.write(`${line}\n`)
}

/** Over and over on one line for a person; now and then for a file. */
function showProgress({ elapsedMs, faults, striking, unheld, answered }: Progress): void {
  const at = `${Math.floor(elapsedMs / 60_000)}:${String(Math.floor(elapsedMs / 1_000) % 60).padStart(2, '0')}`
  const now = striking.length === 0 ? 'calm' : striking.join(' + ')
  const line = `${at}  ${faults} faults, ${answered} calls answered, ${unheld} partitions free  ${now}`
  if (process.stdout.isTTY)
    process.stdout.write(`\r\x1b[K${line.slice(0, (process.stdout.columns ?? 80) - 1)}`)
  else if (Math.floor(elapsedMs / 1_000) % 15 === 0) process.stdout.write(`${line}\n`)
}
