// npm run bench -- idle [--quick]: the cost of the whole process tree, PostgreSQL included, while nothing is due: with
// no job, and with 100,000 registered ones. Goals: below 2 % and below 3 % of a core.
import { makeDataDir, startCarillon } from './carillon.ts'
import { wait } from './load.ts'
import { figure, table } from './output.ts'
import { measureTree } from './process-tree.ts'
import { connectTo, registerJobs } from './register.ts'

const settleMs = 15_000

export async function run({ quick }: { quick: boolean }): Promise<void> {
  const seconds = quick ? 20 : 60
  const rows: Record<string, unknown>[] = []
  await using dataDir = await makeDataDir()
  await using carillon = await startCarillon(dataDir.path)
  for (const jobs of [0, 100_000]) {
    if (jobs > 0) await register(dataDir.path, jobs)
    await wait(settleMs)
    const before = measureTree(carillon.child.pid!)
    await wait(seconds * 1_000)
    const after = measureTree(carillon.child.pid!)
    const percent = (100 * (after.cpuSeconds - before.cpuSeconds)) / seconds
    const cpu = `${percent.toFixed(2)} % of one core`
    rows.push({ 'registered jobs': jobs, cpu, processes: after.processes, memory: `${after.memoryMb} MB` })
    figure({ bench: 'idle', metric: `cpu_with_${jobs}_jobs`, value: percent, unit: '%' })
  }
  table(rows)
}

async function register(dataDir: string, jobs: number): Promise<void> {
  const client = await connectTo(dataDir)
  await registerJobs(client, jobs)
  await client.end()
}
