// npm run bench -- sdk [--quick]: executions through two SDK workers, one of which is drained on the way: how many a second,
// and the CPU time of each on both sides. Workers, API and PostgreSQL share the machine.
import { createClient } from '../sdk/src/client.ts'
import { defineJob } from '../sdk/src/define-job.ts'
import { createWorker } from '../sdk/src/worker.ts'
import { makeDataDir, startCarillon } from './carillon.ts'
import { wait } from './load.ts'
import { figure, table } from './output.ts'
import { measureTree } from './process-tree.ts'

const triggersAtOnce = 64

export async function run({ quick }: { quick: boolean }): Promise<void> {
  const count = quick ? 2_000 : 10_000
  await using dataDir = await makeDataDir()
  await using carillon = await startCarillon(dataDir.path)
  const { url, key } = carillon
  const client = createClient({ url, key })
  const rows: Record<string, unknown>[] = []
  for (const concurrency of [50, 500]) {
    const ran = new Map<string, number>()
    const job = defineJob({
      key: `count-${concurrency}`,
      schedule: '@yearly',
      overlap: 'ALLOW',
      run(payload, { executionId }) {
        ran.set(executionId, (ran.get(executionId) ?? 0) + 1)
        return payload
      },
    })
    const options = { url, key, jobs: [job], concurrency, handleSignals: false, onEvent: () => {} }
    const setUp = await createWorker(options)
    const jobId = setUp.jobIds.get(job.key)!
    await setUp.stop()
    const numbers = Array(count).keys()
    const trigger = async () => {
      for (const number of numbers) await client.jobs.trigger(jobId, { payload_override: { number } })
    }
    await Promise.all(Array.from({ length: triggersAtOnce }, trigger))

    const server = measureTree(carillon.child.pid!).cpuSeconds
    const own = process.cpuUsage()
    const startedMs = performance.now()
    const workers = await Promise.all([createWorker(options), createWorker(options)])
    while (ran.size < count / 2) await wait(5)
    const drained = workers[0].stop()
    while (ran.size < count || workers[1].running > 0) await wait(5)
    const seconds = (performance.now() - startedMs) / 1_000
    const { user, system } = process.cpuUsage(own)
    const serverUs = ((measureTree(carillon.child.pid!).cpuSeconds - server) * 1e6) / count
    const ownUs = (user + system) / count
    await Promise.all([drained, workers[1].stop()])
    const twice = [...ran.values()].filter((times) => times > 1).length
    rows.push({
      concurrency,
      executions: count,
      'per s': (count / seconds).toFixed(0),
      'SDK CPU': `${ownUs.toFixed(0)} µs each`,
      'server CPU': `${serverUs.toFixed(0)} µs each`,
      'ran twice': twice,
    })
    figure({ bench: 'sdk', metric: `per_s_at_${concurrency}`, value: count / seconds, unit: '1/s' })
    figure({ bench: 'sdk', metric: `sdk_cpu_at_${concurrency}`, value: ownUs, unit: 'µs' })
    figure({ bench: 'sdk', metric: `server_cpu_at_${concurrency}`, value: serverUs, unit: 'µs' })
  }
  table(rows)
}
