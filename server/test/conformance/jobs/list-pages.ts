// Conformance of the lists whose items have payloads: no payload unless it is asked for, and pages that end early.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import type { Execution } from '../../../src/domain/jobs/job.ts'
import type { JobFilter } from '../../../src/domain/jobs/operation.ts'
import { defaultTenantId } from '../../../src/domain/tenants/tenant.ts'
import { leanPage, type PageContent } from '../../../src/ports/pages.ts'
import { anyLetter, dieAll } from '../history/dead-letters.ts'
import type { StoreScenario } from '../stores.ts'
import { change, edit } from './changes.ts'

type Setup = (t: TestContext) => Promise<StoreScenario>

interface Page {
  items: { id: string; payload: string | null; rest: unknown }[]
  more: boolean
}

/** A list whose items have these payloads, the last one first; a page lies behind an id. */
type List = (content: PageContent & { limit: number }, before: string | null) => Promise<Page>

const withPayloads: PageContent = { payloads: true, bytesMax: 10_000_000 }
const text = (length: number) => 'x'.repeat(length - 2)

const execution: Execution = {
  type: 'http',
  callback_url: 'http://127.0.0.1:1/',
  method: 'POST',
  headers: {},
  timeout_seconds: 5,
}
const calling = (payload: unknown) => ({
  execution: payload === undefined ? execution : { ...execution, payload },
})

const listsOfJobs =
  (filter: Partial<JobFilter>) =>
  async (s: StoreScenario, payloads: readonly unknown[]): Promise<List> => {
    for (const payload of payloads) await s.createJob(calling(payload))
    return async (content, before) => {
      const wanted = { status: null, tag: null, q: null, ...filter }
      const query = { tenantId: defaultTenantId, filter: wanted, before, offset: 0, ...content }
      const { jobs, next } = await s.jobs.list(query)
      const items = jobs.map(({ payload, jobId, ...job }) => ({ id: jobId, payload, rest: job.execution }))
      if (next !== null) assert.equal(next, items.at(-1)!.id)
      return { items, more: next !== null }
    }
  }

const lists: Record<string, (s: StoreScenario, payloads: readonly unknown[]) => Promise<List>> = {
  jobs: listsOfJobs({}),
  'active jobs': listsOfJobs({ status: 'ACTIVE' }),
  'versions of a job': async (s, [first, ...others]) => {
    const job = await s.createJob(calling(first))
    for (const payload of others) await change(s, job, edit(calling(payload)))
    const { tenantId, jobId } = job
    return async (content, behind) => {
      const before = behind === null ? null : Number(behind)
      const page = (await s.jobVersions.list({ tenantId, jobId, before, ...content }))!
      const items = page.versions.map((one) => {
        return { id: String(one.job.version), payload: one.payload, rest: one.job.execution }
      })
      return { items, more: page.more }
    }
  },
  'dead letters': async (s, payloads) => {
    for (const payload of payloads) {
      await s.trigger(await s.createJob(calling(payload)))
      await dieAll(s)
    }
    return async (content, before) => {
      const query = { tenantId: defaultTenantId, filter: anyLetter, before, ...content }
      const { deadLetters, more } = await s.deadLetters.list(query)
      const items = deadLetters.map(({ payload, ...rest }) => ({ id: rest.executionId, payload, rest }))
      return { items, more }
    }
  },
}

export function testListPages(name: string, setup: Setup): void {
  for (const [what, open] of Object.entries(lists)) {
    test(`${name}: the list of ${what} has payloads only if they are asked for, as they were given`, async (t) => {
      const s = await setup(t)
      const payloads = [{ b: 1, a: [1.5, 'ä"\\'] }, undefined, null, 'text', 0]
      const list = await open(s, payloads)
      const whole = await list({ ...withPayloads, limit: 10 }, null)
      const read = whole.items.map(({ payload }) => (payload === null ? undefined : JSON.parse(payload)))
      assert.deepEqual(read, payloads.toReversed())
      const lean = await list({ ...leanPage, limit: 10 }, null)
      assert.deepEqual(
        lean.items.map(({ payload }) => payload),
        payloads.map(() => null),
      )
      for (const page of [whole, lean])
        for (const { rest } of page.items) assert(!('payload' in (rest as object)))
    })

    test(`${name}: a page of ${what} ends early at its bytes, and the next goes on there`, async (t) => {
      const s = await setup(t)
      const sizes = [3_000, 20_000, 3_000, 3_000, 3_000, 30_000]
      const list = await open(s, sizes.map(text))
      const seen: string[] = []
      const counts: number[] = []
      let before: string | null = null
      for (let more = true; more; ) {
        const page: Page = await list({ payloads: true, bytesMax: 18_000, limit: 10 }, before)
        const lengths = page.items.map(({ payload }) => payload!.length)
        const bytes = lengths.reduce((sum, length) => sum + length, 0)
        assert(bytes <= 18_000 || lengths.length === 1, `${lengths}`)
        seen.push(...lengths.map(String))
        counts.push(lengths.length)
        before = page.items.at(-1)!.id
        more = page.more
      }
      assert.deepEqual(seen, sizes.toReversed().map(String))
      assert.deepEqual(counts, [1, 3, 1, 1])
      // Payloads that are not read do not count.
      const lean = await list({ payloads: false, bytesMax: 18_000, limit: 10 }, null)
      assert.deepEqual([lean.items.length, lean.more], [6, false])
    })
  }
}
