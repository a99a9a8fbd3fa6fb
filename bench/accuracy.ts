// npm run bench -- accuracy [--quick]: how late calls arrive at the receiver, by its own clock, at rising numbers of
// jobs due in the same second. Goals: never early; p99 below 100 ms at 1,000 due a second.
import { makeDataDir, startCarillon } from './carillon.ts'
import { createJobs, type LoadResult, measure, wait } from './load.ts'
import { figure } from './output.ts'
import { startTarget } from './target.ts'

export async function run({ quick }: { quick: boolean }): Promise<void> {
  const seconds = quick ? 15 : 60
  const rows: Record<string, unknown>[] = []
  for (const jobs of quick ? [1, 100, 1_000] : [1, 100, 1_000, 2_000]) {
    await using dataDir = await makeDataDir()
    await using carillon = await startCarillon(dataDir.path)
    await using target = await startTarget()
    await createJobs(carillon, target, jobs)
    await wait(5_000) // code is compiled and connections are open
    const result = await measure(target, jobs, seconds)
    rows.push(row(jobs, result))
    figure({ bench: 'accuracy', metric: `late_p99_at_${jobs}_per_s`, value: result.p99, unit: 'ms' })
  }
  console.table(rows)
}

function row(jobs: number, { p50, p99, max, early, missing, doubled }: LoadResult): Record<string, unknown> {
  const ms = (value: number) => `${value.toFixed(1)} ms`
  return { 'due a second': jobs, p50: ms(p50), p99: ms(p99), max: ms(max), early, missing, doubled }
}
