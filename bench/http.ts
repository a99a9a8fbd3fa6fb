// npm run bench -- http [--quick]: one-second jobs with real callbacks and history on, at rising rates, and what the
// processes cost; beside it bare undici calls to the same target, which are the limit.

import { Agent } from 'undici'
import { makeDataDir, startCarillon } from './carillon.ts'
import { createJobs, measure, wait } from './load.ts'
import { figure } from './output.ts'
import { measureTree } from './process-tree.ts'
import { startTarget, type Target } from './target.ts'

export async function run({ quick }: { quick: boolean }): Promise<void> {
  const seconds = quick ? 10 : 30
  const rows: Record<string, unknown>[] = []
  await using dataDir = await makeDataDir()
  await using carillon = await startCarillon(dataDir.path)
  await using target = await startTarget()
  let jobs = 0
  let sustained = 0
  for (const rate of quick ? [1_000, 2_000] : [1_000, 2_000, 3_000, 4_000]) {
    await createJobs(carillon, target, rate - jobs)
    jobs = rate
    await wait(5_000)
    const before = measureTree(carillon.child.pid!)
    const startedMs = performance.now()
    const result = await measure(target, jobs, seconds)
    const tookS = (performance.now() - startedMs) / 1_000
    const cpuS = measureTree(carillon.child.pid!).cpuSeconds - before.cpuSeconds
    if (result.p99 < 1_000 && result.missing === 0) sustained = rate
    rows.push({
      'due a second': rate,
      arrived: result.executionsPerS.toFixed(0),
      p50: `${result.p50.toFixed(0)} ms`,
      p99: `${result.p99.toFixed(0)} ms`,
      missing: result.missing,
      doubled: result.doubled,
      early: result.early,
      'CPU an execution, PostgreSQL included': `${((cpuS / (rate * tookS)) * 1e6).toFixed(0)} µs`,
    })
  }
  console.table(rows)
  const bare = await measureBare(target, quick ? 3_000 : 10_000)
  console.log(`bare undici calls to the same target: ${bare.toFixed(0)} a second`)
  figure({ bench: 'http', metric: 'sustained_per_s', value: sustained, unit: '1/s' })
  figure({
    bench: 'http',
    metric: 'sustained_per_s',
    value: sustained,
    unit: '1/s',
    ratio: sustained / bare,
    against: 'undici',
  })
}

async function measureBare(target: Target, forMs: number): Promise<number> {
  const agent = new Agent({ connections: 64 })
  const untilMs = performance.now() + forMs
  let calls = 0
  const callAgain = async () => {
    while (performance.now() < untilMs) {
      await new Promise<void>((resolve, reject) => {
        agent.dispatch(
          {
            origin: target.url,
            path: '/',
            method: 'POST',
            headers: {
              'content-type': 'application/json',
              'x-scheduled-time': '2026-01-01T00:00:00Z',
              'x-execution-id': 'bare',
            },
            body: '{"index":1}',
          },
          {
            onRequestStart() {},
            onResponseStart() {},
            onResponseData() {},
            onResponseEnd: () => resolve(),
            onResponseError: (_controller, error) => reject(error),
          },
        )
      })
      calls += 1
    }
  }
  await Promise.all(Array.from({ length: 64 }, callAgain))
  await agent.close()
  await target.take()
  return calls / (forMs / 1_000)
}
