// npm run bench -- client [--quick]: our HTTP client compared with undici's dispatch: the same calls with the same headers to the same
// target, in turns within one process. Calls a second, and the CPU time of this process for each; the target has its own.
// undici is measured twice: as it is, and behind the HTTP port with the limits, the timer and the outcomes of our client.
import { HttpClient } from '@carillon/server/lib/http/client.ts'
import { realTimers } from '@carillon/server/lib/time/timers.ts'
import type { Http, HttpRequest } from '@carillon/server/ports/http.ts'
import { Agent } from 'undici'
import { bodyOfCall, headersOfCall } from './bare.ts'
import type { BenchOptions } from './main.ts'
import { figure, say, table } from './output.ts'
import { startTimedTarget, type TimedTarget } from './timed-target.ts'
import { UndiciHttp } from './undici-http.ts'
import { describeSpread, interleave, type Spread, spreadOf, windowsMin } from './windows.ts'

const connections = 64
/** Counted by the target, and not kept. */
const path = '/counted'

export async function run({ quick }: BenchOptions): Promise<void> {
  const windowMs = quick ? 500 : 4_000
  await using target = await startTimedTarget()
  await using ours = new HttpClient(realTimers, () => performance.now(), { connectionsMax: connections })
  await using adapted = new UndiciHttp({ connectionsMax: connections })
  const bare = new Agent({ connections, pipelining: 1 })
  const callers = new Map([
    ['our client', callerOf(ours, target)],
    ['undici dispatch, bare', bareCallerOf(bare, target)],
    ['undici dispatch, with our limits', callerOf(adapted, target)],
  ])
  // Compiled, and connected.
  for (const call of callers.values()) await measureWindow(call, windowMs)
  await target.take()

  const cpuUs = new Map([...callers.keys()].map((name) => [name, [] as number[]]))
  let calls = 0
  const contestants = [...callers].map(([name, call]) => ({
    name,
    async measure() {
      const window = await measureWindow(call, windowMs)
      cpuUs.get(name)!.push(window.cpuUs)
      calls += window.calls
      return window.perS
    },
  }))
  const perS = await interleave(contestants, 2 * windowsMin)
  const { counted } = await target.take()
  if (counted !== calls) throw new Error(`${calls} calls were answered, and ${counted} came`)
  const costs = new Map([...cpuUs].map(([name, values]) => [name, spreadOf(values)]))
  tell(perS, costs)
  await bare.close()
}

type Caller = () => Promise<void>

function callerOf(http: Http, target: TimedTarget): Caller {
  const request: HttpRequest = {
    tenantId: 'default',
    method: 'POST',
    url: target.url + path,
    target: { origin: target.url, path },
    headers: headersOfCall,
    body: bodyOfCall,
    timeoutMs: 30_000,
    responseBytesMax: 1_000_000,
    previewBytesMax: 4_096,
  }
  return async () => {
    const outcome = await http.send(request)
    if (outcome.kind === 'failed') throw new Error(outcome.message)
  }
}

function bareCallerOf(agent: Agent, { url: origin }: TimedTarget): Caller {
  const request = { origin, path, method: 'POST' as const, headers: headersOfCall, body: bodyOfCall }
  return () =>
    new Promise((resolve, reject) => {
      agent.dispatch(request, {
        onRequestStart() {},
        onResponseStart() {},
        onResponseData() {},
        onResponseEnd: () => resolve(),
        onResponseError: (_controller, error) => reject(error),
      })
    })
}

interface Window {
  calls: number
  perS: number
  /** For each call. */
  cpuUs: number
}

async function measureWindow(call: Caller, windowMs: number): Promise<Window> {
  const before = process.cpuUsage()
  const startMs = performance.now()
  let calls = 0
  const callAgain = async () => {
    for (; performance.now() - startMs < windowMs; calls += 1) await call()
  }
  await Promise.all(Array.from({ length: connections }, callAgain))
  const tookS = (performance.now() - startMs) / 1_000
  const { user, system } = process.cpuUsage(before)
  return { calls, perS: calls / tookS, cpuUs: (user + system) / calls }
}

function tell(perS: ReadonlyMap<string, Spread>, costs: ReadonlyMap<string, Spread>): void {
  table(
    [...perS].map(([name, rate]) => ({
      client: name,
      'calls a second': describeSpread(rate),
      'CPU µs a call': describeSpread(costs.get(name)!, 1),
    })),
  )
  const [ours, ...others] = [...costs]
  figure({ bench: 'client', metric: 'cpu_a_call', value: ours![1].median, unit: 'µs' })
  for (const [against, { median }] of others) {
    const ratio = ours![1].median / median
    say(`CPU time a call, ours over ${against}: ${ratio.toFixed(2)}`)
    figure({ bench: 'client', metric: 'cpu_a_call', value: ours![1].median, unit: 'µs', ratio, against })
  }
}
