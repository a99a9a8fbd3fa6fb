// A tab that is left open while six times as much happens as in the demo world: it must neither grow nor load the
// server. 20 seconds in a usual run; `npm run test:browser -- --soak 10` watches for ten minutes and prints its
// measurements.
import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import test from 'node:test'
import type { CDPSession, Page } from 'playwright-core'
import { show } from './demo-screens.ts'
import { openPage } from './open-page.ts'
import { serverOf } from './servers.ts'

const server = serverOf('demo')
const soakMinutes = Number(process.env['BROWSER_TEST_SOAK_MINUTES'] ?? 0)
const lookMs = soakMinutes > 0 ? soakMinutes * 60_000 : 20_000
const sampleMs = soakMinutes > 0 ? 30_000 : 5_000
const factor = 6
const clockTicks = 100
const heapGrowthMax = 1.25
const nodesGrowthMax = 1.25
/** Each tab has one stream, and refetches its data now and then. */
const requestsPerMinuteMax = 120

interface Tab {
  path: string
  page: Page
  cdp: CDPSession
  requests: number
}

interface Sample {
  heapBytes: number
  nodes: number
}

test('a tab that is left open at six times the usual rate neither grows nor asks more and more', async (t) => {
  await addLoad(t)
  const without = await measureCpu()
  const tabs = await Promise.all(['/', '/executions'].map((path) => openTab(t, path)))
  // Everything that is loaded once is loaded now.
  for (const { page } of tabs) await hearFor(page, sampleMs)
  const first = await Promise.all(tabs.map(measure))
  for (const tab of tabs) tab.requests = 0
  const cpuBefore = cpuOf(server.pid)
  const startedMs = performance.now()
  let last = first
  let most = first
  while (performance.now() - startedMs < lookMs) {
    await Promise.all(tabs.map(({ page }) => hearFor(page, sampleMs)))
    last = await Promise.all(tabs.map(measure))
    most = most.map((sample, index) => ({
      heapBytes: Math.max(sample.heapBytes, last[index]!.heapBytes),
      nodes: Math.max(sample.nodes, last[index]!.nodes),
    }))
    t.diagnostic(`${Math.round((performance.now() - startedMs) / 1_000)} s: ${describe(tabs, last)}`)
  }
  const minutes = (performance.now() - startedMs) / 60_000
  const cpu = cpuSince(cpuBefore, startedMs)
  t.diagnostic(`began with ${describe(tabs, first)}; most ${describe(tabs, most)}`)
  const requests = tabs.map(({ path, requests: count }) => `${path} ${(count / minutes).toFixed(0)}`)
  t.diagnostic(`requests a minute: ${requests.join(', ')}`)
  t.diagnostic(`CPU of the server: ${percent(cpu)}; before the tabs were opened: ${percent(without)}`)
  for (const [index, tab] of tabs.entries()) {
    const { heapBytes, nodes } = first[index]!
    assert(last[index]!.heapBytes < heapBytes * heapGrowthMax + 2e6, `${tab.path}: the heap grows`)
    assert(last[index]!.nodes < nodes * nodesGrowthMax + 500, `${tab.path}: the page grows`)
    assert(tab.requests / minutes < requestsPerMinuteMax, `${tab.path}: ${tab.requests} requests`)
    await tab.page.getByText(/^Live · /).waitFor()
  }
})

/** CPU under the load, with no tab open. */
async function measureCpu() {
  const [before, sinceMs] = [cpuOf(server.pid), performance.now()]
  await new Promise((resolve) => setTimeout(resolve, sampleMs))
  return cpuSince(before, sinceMs)
}

/** Jobs of every second, five times as many slots as the world has without them. */
async function addLoad(t: Parameters<typeof openPage>[0]): Promise<void> {
  const { counts, step_seconds } = await server.api.get<{ counts: number[]; step_seconds: number }>(
    '/forecast?hours=24',
  )
  const perSecond = counts[1]! / step_seconds
  const jobs = Math.max(1, Math.ceil(perSecond * (factor - 1)))
  t.diagnostic(`${perSecond.toFixed(2)} slots a second, and ${jobs} more a second`)
  for (let number = 1; number <= jobs; number++) {
    const { job_id } = await server.api.makeJob({ name: `Load ${number}`, schedule: 'every 1 second' })
    t.after(() => server.api.delete(`/jobs/${job_id}`))
  }
}

async function openTab(t: Parameters<typeof openPage>[0], path: string): Promise<Tab> {
  const page = await openPage(t, { server })
  await show(page, path)
  const cdp = await page.context().newCDPSession(page)
  await cdp.send('HeapProfiler.enable')
  const tab = { path, page, cdp, requests: 0 }
  page.on('request', () => tab.requests++)
  return tab
}

/** Waits this long by the clock of the page, like a person leaving it open. */
async function hearFor(page: Page, ms: number): Promise<void> {
  await page.evaluate((waitMs) => new Promise((resolve) => setTimeout(resolve, waitMs)), ms)
}

async function measure({ cdp }: Tab): Promise<Sample> {
  await cdp.send('HeapProfiler.collectGarbage')
  const { usedSize } = await cdp.send('Runtime.getHeapUsage')
  const { nodes } = await cdp.send('Memory.getDOMCounters')
  return { heapBytes: usedSize, nodes }
}

function describe(tabs: readonly Tab[], samples: readonly Sample[]): string {
  return tabs
    .map(({ path }, index) => {
      const { heapBytes, nodes } = samples[index]!
      return `${path} ${(heapBytes / 1e6).toFixed(1)} MB of heap, ${nodes} nodes`
    })
    .join('; ')
}

/** Seconds of CPU used by the processes of the server, and by its PostgreSQL; on Linux only. */
function cpuOf(pid: number): { server: number; database: number } {
  const used = { server: 0, database: 0 }
  if (!existsSync('/proc/self/stat')) return used
  const all = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const [, command, rest] = /\((.*)\) (.*)/s.exec(readFileSync(`/proc/${name}/stat`, 'utf8'))!
        const fields = rest!.split(' ')
        const seconds = (Number(fields[11]) + Number(fields[12])) / clockTicks
        return [{ pid: Number(name), parent: Number(fields[1]), command: command!, seconds }]
      } catch {
        // It ended meanwhile.
        return []
      }
    })
  const tree = new Set([pid])
  for (const one of tree) for (const { pid: child, parent } of all) if (parent === one) tree.add(child)
  for (const { pid: one, command, seconds } of all) {
    if (tree.has(one)) used[command.startsWith('postgres') ? 'database' : 'server'] += seconds
  }
  return used
}

/** Shares of a core since then. */
function cpuSince(before: ReturnType<typeof cpuOf>, sinceMs: number) {
  const now = cpuOf(server.pid)
  const seconds = (performance.now() - sinceMs) / 1_000
  return {
    server: (now.server - before.server) / seconds,
    database: (now.database - before.database) / seconds,
  }
}

function percent({ server: ours, database }: { server: number; database: number }): string {
  return `${(ours * 100).toFixed(0)} % of a core, its PostgreSQL ${(database * 100).toFixed(0)} %`
}
