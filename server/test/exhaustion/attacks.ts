// Attacks that a test and `npm run bench -- isolation` make.
import type { Target, TargetPath } from './target.ts'
import type { TenantCaller } from './tenant-caller.ts'

const payloadBytes = 250_000
const hangingPerHost = 334
/** The longest time that a job of the tier free may have. */
const hangSeconds = 3_600
const endlessPerHost = 250
const floodCount = 1_000
const createdAtOnce = 4
/** Each fails at once, and a circuit breaker counts by host. */
export const endlessHosts = 10
export const hangingHosts = 9
const endlessPaths: readonly TargetPath[] = ['/interim', '/extension']

/** Calls that are never answered, at each host of the target. */
export async function hangingCalls(evil: TenantCaller, target: Target): Promise<void> {
  for (const url of target.urls('/silent')) {
    const jobId = await evil.createTriggered(url, { timeout_seconds: hangSeconds })
    await evil.trigger(jobId, hangingPerHost)
  }
}

/** Jobs with payloads of many small arrays, which cost most to parse. */
export async function largeJobs(evil: TenantCaller, count: number): Promise<void> {
  const payload = Array.from({ length: payloadBytes / 10 }, () => [1, 2, 3, 4])
  for (let made = 0; made < count; made += createdAtOnce)
    await Promise.all(
      Array.from({ length: createdAtOnce }, () => evil.createTriggered('http://127.0.0.1:9/', { payload })),
    )
}

/** Calls that are answered without end, at each host of the target. */
export async function endlessAnswers(evil: TenantCaller, target: Target): Promise<void> {
  const jobIds: string[] = []
  for (const [n] of target.ports.entries()) {
    const url = target.urls(endlessPaths[n % 2]!)[n]!
    jobIds.push(await evil.createTriggered(url, { timeout_seconds: hangSeconds }))
  }
  // All at once: a server without a bound answers no more after the first.
  await Promise.all(
    jobIds.map((jobId) => evil.call('POST', `/jobs/${jobId}/triggers`, { count: endlessPerHost })),
  )
}

/** Calls that are answered at once, at one host. */
export async function floodsOf(evil: TenantCaller, url: string, requests: number): Promise<void> {
  const jobId = await evil.createTriggered(url)
  for (let n = 0; n < requests; n++) await evil.trigger(jobId, floodCount)
}
