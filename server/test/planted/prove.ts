// `npm run sim:prove [-- --from S] [--seeds N] [NAME…]`: plants one bug after the other and lets the simulation look for
// it. A simulation that finds no bugs proves nothing; the table says how many seeds it needed for each. It ends with
// an error when one is not found.
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { BUGS } from './bugs.ts'
import { findBug } from './find-bug.ts'
import type { Hunt } from './hunt.ts'
import { type PlantedBug, plantedVariable } from './planted-bug.ts'

const run = promisify(execFile)
const { values, positionals } = parseArgs({
  options: { from: { type: 'string', default: '1' }, seeds: { type: 'string', default: '1000' } },
  allowPositionals: true,
})
const bugs = positionals.length === 0 ? BUGS : positionals.map(findBug)
const found: { bug: PlantedBug; hunt: Hunt }[] = []

console.log('| Planted bug | Effect | Found by | Seeds needed |')
console.log('|---|---|---|---|')
for (const bug of bugs) {
  const result = await lookFor(bug)
  if (result.invariant !== null) await assertSound(Number(values.from) + result.seeds - 1)
  found.push({ bug, hunt: result })
  const by = result.invariant ?? 'NOT FOUND'
  console.log(`| ${bug.name} | ${bug.wrong} (\`${bug.file}\`) | ${by} | ${result.seeds} |`)
}

const hits = found.filter(({ hunt }) => hunt.invariant !== null)
const seeds = hits.map(({ hunt }) => hunt.seeds).toSorted((a, b) => a - b)
const tookS = found.reduce((sum, { hunt }) => sum + hunt.tookMs, 0) / 1_000
console.log(
  `\nFound ${hits.length} of ${found.length} planted bugs, from seed ${values.from}; seeds needed: median ` +
    `${seeds[Math.floor((seeds.length - 1) / 2)] ?? '-'}, most ${seeds.at(-1) ?? '-'}. It took ${tookS.toFixed(0)} s.`,
)
if (hits.length < found.length) process.exit(1)

async function lookFor({ name }: PlantedBug): Promise<Hunt> {
  const env = { ...process.env, [plantedVariable]: name }
  return hunt(['--import', fileOf('register.ts')], [values.from, values.seeds], env)
}

/** A seed that is red without the bug says nothing about it. */
async function assertSound(seed: number): Promise<void> {
  const { invariant, what } = await hunt([], [String(seed), '1'], process.env)
  if (invariant === null) return
  console.error(`Seed ${seed} is red without any planted bug, which comes first: ${invariant}: ${what}`)
  process.exit(1)
}

async function hunt(options: string[], seeds: string[], env: NodeJS.ProcessEnv): Promise<Hunt> {
  const args = [...options, fileOf('hunt.ts'), ...seeds]
  const { stdout } = await run(process.execPath, args, { env, maxBuffer: 1 << 24 })
  return JSON.parse(stdout) as Hunt
}

function fileOf(name: string): string {
  return join(import.meta.dirname, name)
}
