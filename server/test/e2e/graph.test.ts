// A graph of real jobs on a real server that is killed in the middle of it: all of it runs, and nothing too early.
import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import test from 'node:test'
import { makeDataDir } from '../data-dir.ts'
import { type Api, callApi, until } from './api.ts'
import { kill, Program } from './program.ts'
import { type Call, startReceiver } from './receiver.ts'

interface RunShown {
  status: string
  nodes: { job_name: string; status: string; attempt_number: number }[]
}

/** One, three rows of nine each of which waits for three of the row above, and one that waits for all. */
const rows = 3
const width = 9

function parentsByName(): Map<string, string[]> {
  const parents = new Map<string, string[]>([['start', []]])
  const nameOf = (row: number, at: number) => `${row}-${(at + width) % width}`
  for (let row = 0; row < rows; row++) {
    for (let at = 0; at < width; at++) {
      const above = [at - 1, at, at + 1].map((one) => nameOf(row - 1, one))
      parents.set(nameOf(row, at), row === 0 ? ['start'] : above)
    }
  }
  return parents.set(
    'end',
    Array.from({ length: width }, (_, at) => nameOf(rows - 1, at)),
  )
}

async function createJobs(api: Api, url: string, parents: ReadonlyMap<string, string[]>): Promise<string> {
  const jobIds = new Map<string, string>()
  for (const [name, above] of parents) {
    const { job_id } = await api.post<{ job_id: string }>('/jobs', {
      name,
      execution: { callback_url: `${url}/${name}` },
      ...(above.length === 0
        ? { schedule: '0 0 1 1 *' }
        : { depends_on: above.map((parent) => ({ job_id: jobIds.get(parent) })) }),
    })
    jobIds.set(name, job_id)
  }
  return jobIds.get('start')!
}

test('a server that is killed in the middle of a graph goes on with it: each job ends once, after the jobs it depends on', async (t) => {
  const parents = parentsByName()
  const nameOf = ({ path }: Call) => path.slice(1)
  /** Calls that are not answered before the server is dead. */
  const unanswered: ServerResponse[] = []
  let isKilled = false
  const answered = new Set<string>()
  const tooEarly: string[] = []
  const receiver = await startReceiver(t, {
    answer(call, response) {
      const name = nameOf(call)
      for (const parent of parents.get(name)!)
        if (!answered.has(parent)) tooEarly.push(`${name} before ${parent}`)
      // The second row is on its way, the others in it are done: later nodes were released meanwhile.
      if (!isKilled && name.startsWith('1-') && Number(name.slice(2)) % 2 === 0) {
        unanswered.push(response)
        return
      }
      answered.add(name)
      response.end('{"done":true}')
    },
  })
  const dataDir = await makeDataDir(t)
  const first = new Program(t, { dataDir })
  const url = await first.ready()
  const root = await createJobs(callApi(url, first.key()), receiver.url, parents)
  const { graph_run_id: runId } = await callApi(url, first.key()).post<{ graph_run_id: string }>(
    `/jobs/${root}/trigger`,
    {},
  )
  await until(
    () => (unanswered.length === Math.ceil(width / 2) ? true : null),
    'half of the second row is running',
  )
  kill(first.child.pid!, 'SIGKILL')
  await first.exit
  isKilled = true
  for (const response of unanswered) response.destroy()

  const second = new Program(t, { dataDir })
  const api = callApi(await second.ready(), second.key())
  const run = await until(async () => {
    const shown = await api.get<RunShown>(`/graph-runs/${runId}`)
    return shown.status === 'RUNNING' ? null : shown
  }, 'the run is over')
  assert.equal(run.status, 'SUCCEEDED')
  assert.deepEqual(new Set(run.nodes.map((node) => node.job_name)), new Set(parents.keys()))
  assert.ok(run.nodes.every(({ status }) => status === 'SUCCEEDED'))
  assert.deepEqual(tooEarly, [])

  const byName = Map.groupBy(receiver.calls, nameOf)
  assert.deepEqual(new Set(byName.keys()), new Set(parents.keys()))
  for (const [name, calls] of byName) {
    const distinct = (header: string) => new Set(calls.map(({ headers }) => headers[header])).size
    assert.equal(distinct('x-execution-id'), 1, `${name} had one execution`)
    assert.equal(distinct('x-idempotency-key'), 1, `${name} had one key`)
    assert.equal(distinct('x-attempt-number'), calls.length, `${name} was called once for each attempt`)
  }
  // A node that was running when the server died has a second attempt; the nodes behind it have only one.
  assert.ok(byName.get('1-0')!.length >= 2)
  assert.equal(byName.get('end')!.length, 1)
})
