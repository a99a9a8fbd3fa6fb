// A disk that is full, for real: the program with its data on a small disk of its own. Takes root on Linux, as a disk is
// mounted; without it the test fails and says so.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import test, { type TestContext } from 'node:test'
import { Disk, mayMount } from '../chaos/disk.ts'
import { Guard } from '../chaos/guard.ts'
import { cleanUp } from '../cleanup.ts'
import { makeEmptyDataDir } from '../data-dir.ts'
import { callApi, type ExecutionItem, until } from '../e2e/api.ts'
import { Program } from '../e2e/program.ts'
import { startReceiver } from '../e2e/receiver.ts'
import { withTime } from '../processes/fleet.ts'
import { apiKey, assertOnlyUnavailable, Customer } from './carillon.ts'

/** Of each execution. */
const payload = 'x'.repeat(20_000)

async function mountDisk(t: TestContext): Promise<Disk> {
  assert(mayMount(), 'this test mounts a disk: run it as root on Linux')
  const path = await makeEmptyDataDir(t)
  const guard = new Guard()
  cleanUp(t, () => guard[Symbol.asyncDispose]())
  const disk = await Disk.mount(path, guard)
  cleanUp(t, () => disk[Symbol.asyncDispose]())
  return disk
}

test(
  'a full disk is named while it is full, and costs nothing when there is room again',
  withTime,
  async (t) => {
    const disk = await mountDisk(t)
    const receiver = await startReceiver(t)
    const program = new Program(t, {
      dataDir: join(disk.path, 'data'),
      env: { CARILLON_PROCESSES: '1', CARILLON_API_KEY: apiKey },
    })
    const url = await program.ready()
    const api = callApi(url, apiKey)
    const readyz = async () => {
      const answer = await fetch(`${url}/readyz`)
      const { checks } = (await answer.json()) as { checks: { database: string } }
      return [answer.status, checks.database]
    }
    const execution = { callback_url: `${receiver.url}/`, payload }
    const customers = ['one', 'two'].map((name) => new Customer(t, url, execution, name))
    const acknowledged = () => customers.flatMap((one) => [...one.acknowledged.values()])
    const refused = () => customers.flatMap((one) => one.refused)
    await until(() => (acknowledged().length >= 20 ? true : null), 'jobs are made')
    assert.deepEqual(await readyz(), [200, 'ok'])

    await disk.fill()
    await until(
      () => (refused().some(({ body }) => body.detail === 'The disk of the database is full.') ? true : null),
      'a write is refused by the full disk',
    )
    await until(async () => {
      const [status, database] = await readyz()
      return status === 503 && database === 'the disk of the database is full' ? true : null
    }, 'the server is not ready, as its disk is full')
    const from = refused().length
    await until(() => (refused().length >= from + 20 ? true : null), 'writes are refused')

    await disk.empty()
    const made = acknowledged().length
    await until(() => (acknowledged().length >= made + 20 ? true : null), 'jobs are made again')
    await Promise.all(customers.map((one) => one.stop()))
    await until(async () => ((await readyz())[0] === 200 ? true : null), 'the server is ready by itself')
    assertOnlyUnavailable(refused())
    assert.equal(program.child.exitCode, null, program.said())

    const ids = acknowledged().map(({ executionId }) => executionId)
    for (const id of ids) {
      await until(async () => {
        const { status } = await api.get<ExecutionItem>(`/executions/${id}`)
        return status === 'SUCCEEDED' ? true : null
      }, `${id} has run`)
    }
    const called = Map.groupBy(receiver.calls, ({ headers }) => headers['x-execution-id'])
    assert.deepEqual(
      ids.filter((id) => called.get(id)?.length !== 1),
      [],
      'each acknowledged execution is called once',
    )
    const { pagination } = await api.get<{ pagination: { total: number } }>('/jobs?limit=1')
    const asked = new Set(customers.flatMap((one) => [...one.acknowledged.keys()])).size
    // Of each customer, the job that it was asking for when it was stopped may be there as well.
    assert(
      pagination.total >= asked && pagination.total <= asked + customers.length,
      `${pagination.total} jobs`,
    )
  },
)
