import assert from 'node:assert/strict'
import test from 'node:test'
import { assertProblem } from '../../../test/app.ts'
import { at, fireSlot } from '../../../test/fire.ts'
import { failure, setupGraphApp } from '../../../test/graph-app.ts'
import { graphRunFinished } from '../../telemetry/events.ts'

const nobody = '0192abcd-ef01-7000-8000-000000000001'

test('a triggered root starts a run, and each job of it follows in its turn', async (t) => {
  const { make, idOf, call, trigger, run, statuses, woken } = await setupGraphApp(t)
  await make('a')
  await make('b', ['a'])
  await make('c', ['b'])
  woken.length = 0
  const { runId, executionId } = await trigger('a')
  assert.deepEqual(woken, ['queue', 'shared', 'waiting'])
  assert.equal(runId, executionId)
  assert.deepEqual(await statuses(runId), {
    a: 'PENDING',
    b: 'WAITING_DEPENDENCIES',
    c: 'WAITING_DEPENDENCIES',
  })
  await run()
  assert.deepEqual(await statuses(runId), { a: 'SUCCEEDED', b: 'PENDING', c: 'WAITING_DEPENDENCIES' })
  await run()
  await run()
  const shown = (await call('GET', `/graph-runs/${runId.toUpperCase()}`)).json()
  const { nodes, ...summary } = shown
  assert.deepEqual(summary, {
    graph_run_id: runId,
    status: 'SUCCEEDED',
    kind: 'trigger',
    scheduled_time: '2026-01-01T00:00:00Z',
    roots: [{ job_id: idOf('a'), job_name: 'a' }],
    node_count: 3,
    nodes_by_status: { SUCCEEDED: 3 },
    skipped_by_reason: {},
    resumes: 0,
    created_at: '2026-01-01T00:00:00Z',
    finished_at: '2026-01-01T00:00:00.750Z',
    cancel_message: null,
  })
  const [root, second] = nodes
  assert.deepEqual([root.role, root.execution_id, root.depends_on], ['root', executionId, []])
  assert.deepEqual(second, {
    job_id: idOf('b'),
    job_name: 'b',
    job_version: 1,
    role: 'inner',
    status: 'SUCCEEDED',
    skip_reason: null,
    skip_message: null,
    depends_on: [{ job_id: idOf('a'), on: 'success' }],
    execution_id: second.execution_id,
    attempt_number: 1,
    enqueued_at: '2026-01-01T00:00:00.250Z',
    started_at: '2026-01-01T00:00:00.250Z',
    finished_at: '2026-01-01T00:00:00.500Z',
    duration_ms: 250,
    error: null,
    replaced: [],
  })
})

test('a request for a run that is not made yet is answered as soon as it is', async (t) => {
  const { make, idOf, call, step, world } = await setupGraphApp(t)
  await make('a')
  await make('b', ['a'])
  const { graph_run_id: runId } = (await call('POST', `/jobs/${idOf('a')}/trigger`)).json()
  const answer = call('GET', `/graph-runs/${runId}`)
  while (world.timers.pending === 0) await new Promise((resolve) => setImmediate(resolve))
  await step()
  await world.advance(1_000)
  assert.equal((await answer).json().graph_run_id, runId)
})

test('a run that is made while somebody looks whether it is to come is found', async (t) => {
  const { make, idOf, call, step, memory } = await setupGraphApp(t)
  await make('a')
  await make('b', ['a'])
  const { graph_run_id: runId } = (await call('POST', `/jobs/${idOf('a')}/trigger`)).json()
  t.mock.method(memory.graphRuns, 'isStarting', async () => {
    await step()
    return false
  })
  assert.equal((await call('GET', `/graph-runs/${runId}`)).json().graph_run_id, runId)
})

test('an execution of a run shows the run, its parents and their results', async (t) => {
  const { make, idOf, call, trigger, run } = await setupGraphApp(t)
  await make('a')
  await make('b')
  await make('c', ['a', 'b'])
  const before = await trigger('b')
  await run({ preview: 'no JSON' })
  const { runId, executionId } = await trigger('a')
  await run({ preview: '{"rows":5}' })
  const { nodes } = (await call('GET', `/graph-runs/${runId}`)).json() as {
    nodes: { job_name: string; execution_id: string }[]
  }
  const child = nodes.find((node) => node.job_name === 'c')!.execution_id
  const shown = (await call('GET', `/executions/${child}`)).json()
  assert.deepEqual([shown.kind, shown.graph_run_id, shown.skipped], ['dependency', runId, null])
  const parents = shown.parents.toSorted((one: { job_id: string }) => (one.job_id === idOf('a') ? -1 : 1))
  assert.deepEqual(parents, [
    { job_id: idOf('a'), job_key: null, execution_id: executionId, status: 'SUCCEEDED', result: { rows: 5 } },
    {
      job_id: idOf('b'),
      job_key: null,
      execution_id: before.executionId,
      status: 'SUCCEEDED',
      result: 'no JSON',
    },
  ])
  const root = (await call('GET', `/executions/${executionId}`)).json()
  assert.equal(root.graph_run_id, runId)
  assert.deepEqual(root.parents, [], 'it runs after nothing')
  const alone = (await call('POST', `/jobs/${idOf('c')}/trigger`)).json().execution_id
  assert.deepEqual((await call('GET', `/executions/${alone}`)).json().parents, [])
  const { executions } = (await call('GET', `/jobs/${idOf('c')}/executions`)).json()
  assert.equal(
    executions.find((one: { execution_id: string }) => one.execution_id === child).graph_run_id,
    runId,
  )
})

test('a node that cannot run any more is skipped, and listed with the reason', async (t) => {
  const { make, idOf, call, trigger, run, statuses } = await setupGraphApp(t)
  await make('a')
  await make('b', ['a'])
  await make('c', ['b'])
  await make('alarm', ['a:failure'])
  const { runId } = await trigger('a')
  await run(failure)
  assert.deepEqual(await statuses(runId), { a: 'FAILED', b: 'SKIPPED', c: 'SKIPPED', alarm: 'PENDING' })
  await run()
  const shown = (await call('GET', `/graph-runs/${runId}`)).json()
  assert.equal(shown.status, 'FAILED')
  assert.deepEqual(shown.nodes_by_status, { FAILED: 1, SKIPPED: 2, SUCCEEDED: 1 })
  const skipped = shown.nodes.find((node: { job_name: string }) => node.job_name === 'b')
  assert.equal(skipped.skip_reason, 'dependency')
  assert.equal(skipped.skip_message, 'It runs on success of "a", which ended FAILED.')
  assert.deepEqual(shown.skipped_by_reason, { dependency: 2 })
  const [inList] = (await call('GET', '/graph-runs')).json().graph_runs
  assert.deepEqual(inList.skipped_by_reason, { dependency: 2 })
  const listed = (await call('GET', `/jobs/${idOf('b')}/executions?status=SKIPPED`)).json()
  assert.deepEqual([listed.executions.length, listed.pagination.total], [1, 1])
  const [one] = listed.executions
  assert.deepEqual([one.execution_id, one.status, one.kind], [skipped.execution_id, 'SKIPPED', 'dependency'])
  assert.deepEqual(one.skipped, { reason: 'dependency', message: skipped.skip_message })
  const execution = (await call('GET', `/executions/${one.execution_id}`)).json()
  assert.deepEqual([execution.status, execution.attempts], ['SKIPPED', []])
  assert.deepEqual(execution.skipped, one.skipped)
  // Of a job with slots it is they that are listed.
  assert.deepEqual((await call('GET', `/jobs/${idOf('a')}/executions?status=SKIPPED`)).json().executions, [])
  assertProblem(await call('GET', `/jobs/${nobody}/executions?status=SKIPPED`), 'JOB_NOT_FOUND')
})

test('an outside job that never ran is shown as such, and so is a root with a skipped slot', async (t) => {
  const { make, idOf, call, trigger, run, memory, world, step } = await setupGraphApp(t)
  await make('a')
  await make('b')
  await make('c', ['a', 'b'])
  const shown = async (runId: string) => (await call('GET', `/graph-runs/${runId}`)).json()
  const reasonOf = (run: { nodes: { job_name: string; skip_reason: string }[] }, name: string) =>
    run.nodes.find((node) => node.job_name === name)!.skip_reason
  const outside = await shown((await trigger('a')).runId)
  assert.equal(reasonOf(outside, 'b'), 'absent')
  assert.deepEqual(outside.skipped_by_reason, { dependency: 1 }, 'what is outside is not counted')
  await call('PATCH', `/jobs/${idOf('b')}/pause`)
  await run()
  await world.advance(at('2026-01-02T00:00:00Z') - world.clock.databaseNow())
  await fireSlot({ memory, world }, idOf('a'), '2026-01-02T00:00:00Z')
  await step()
  const [newest] = (await call('GET', '/graph-runs')).json().graph_runs
  assert.deepEqual(newest.skipped_by_reason, { slot: 1, dependency: 1 })
  assert.equal(reasonOf(await shown(newest.graph_run_id), 'b'), 'slot')
})

test('a dead letter of a run names it', async (t) => {
  const { make, call, trigger, run } = await setupGraphApp(t)
  await make('a')
  await make('b', ['a'])
  const { runId, executionId } = await trigger('a')
  await run(failure)
  const [letter] = (await call('GET', '/dead-letters')).json().dead_letters
  assert.deepEqual([letter.execution_id, letter.graph_run_id], [executionId, runId])
})

test('runs are listed newest first, by page and by filter', async (t) => {
  const { make, idOf, call, trigger, run, world } = await setupGraphApp(t)
  await make('a')
  await make('b', ['a'])
  await make('x')
  await make('y', ['x'])
  const first = await trigger('a')
  await run(failure)
  await world.advance(86_400_000)
  const second = await trigger('x')
  const ids = async (query: string) => {
    const answer = await call('GET', `/graph-runs${query}`)
    assert.equal(answer.statusCode, 200, answer.body)
    return answer.json().graph_runs.map((one: { graph_run_id: string }) => one.graph_run_id)
  }
  assert.deepEqual(await ids(''), [second.runId, first.runId])
  assert.deepEqual(await ids('?status=FAILED'), [first.runId])
  assert.deepEqual(await ids('?status=RUNNING'), [second.runId])
  assert.deepEqual(await ids(`?job_id=${idOf('b').toUpperCase()}`), [first.runId])
  assert.deepEqual(await ids('?start_date=2026-01-02'), [second.runId])
  assert.deepEqual(await ids('?end_date=2026-01-01'), [first.runId])
  const page = (await call('GET', '/graph-runs?limit=1')).json()
  assert.deepEqual([page.pagination.total, page.pagination.total_capped], [1, true])
  assert.deepEqual(await ids(`?limit=1&cursor=${page.pagination.next_cursor}`), [first.runId])
  const all = (await call('GET', '/graph-runs')).json().pagination
  assert.deepEqual([all.total, all.total_capped, all.next_cursor], [2, false, null])
  assertProblem(await call('GET', '/graph-runs?status=PENDING'), 'INVALID_REQUEST', 'status')
  assertProblem(await call('GET', '/graph-runs?job_id=x'), 'INVALID_REQUEST', 'job_id')
  const foreign = (await call('GET', '/jobs?limit=1')).json().pagination.next_cursor
  assertProblem(await call('GET', `/graph-runs?cursor=${foreign}`), 'INVALID_CURSOR', 'cursor')
})

test('a cancelled run starts nothing any more', async (t) => {
  const { make, call, trigger, statuses, woken, memory } = await setupGraphApp(t)
  const finished: string[] = []
  const subscription = graphRunFinished.subscribe(({ status }) => finished.push(status))
  t.after(() => subscription[Symbol.dispose]())
  await make('a')
  await make('b', ['a'])
  const { runId } = await trigger('a')
  woken.length = 0
  const answer = await call('POST', `/graph-runs/${runId}/cancel`)
  assert.equal(answer.statusCode, 200, answer.body)
  assert.deepEqual(answer.json(), { graph_run_id: runId, status: 'CANCELLED' })
  assert.deepEqual(woken, ['waiting'])
  assert.deepEqual(await statuses(runId), { a: 'CANCELLED', b: 'CANCELLED' })
  const shown = (await call('GET', `/graph-runs/${runId}`)).json()
  assert.deepEqual([shown.status, shown.cancel_message], ['CANCELLED', 'Cancelled by operator.'])
  assert.equal(memory.store.live.size, 0)
  assert.equal((await call('POST', `/graph-runs/${runId}/cancel`, {})).statusCode, 200, 'the same again')
  assert.deepEqual(finished, ['CANCELLED'], 'told once')
})

test('a run of which something runs is cancelled as soon as that has stopped', async (t) => {
  const { make, call, trigger, woken, claim } = await setupGraphApp(t)
  await make('a')
  await make('b', ['a'])
  const { runId } = await trigger('a')
  await claim()
  woken.length = 0
  const answer = await call('POST', `/graph-runs/${runId}/cancel`)
  assert.equal(answer.statusCode, 202, answer.body)
  assert.deepEqual(answer.json(), { graph_run_id: runId, status: 'CANCELLING' })
  assert.deepEqual(woken, ['waiting', 'cancels'])
  assert.equal((await call('GET', `/graph-runs/${runId}`)).json().status, 'CANCELLING')
})

test('a run that has ended is not cancelled', async (t) => {
  const { make, call, trigger, run } = await setupGraphApp(t)
  await make('a')
  await make('b', ['a'])
  const { runId } = await trigger('a')
  await run()
  await run()
  const answer = await call('POST', `/graph-runs/${runId}/cancel`)
  assertProblem(answer, 'GRAPH_RUN_FINISHED')
  assert.match(answer.json().detail, /SUCCEEDED/)
})

test('a failed run is resumed where it failed', async (t) => {
  const { make, call, trigger, run, statuses, woken } = await setupGraphApp(t)
  await make('a')
  await make('b', ['a'])
  await make('c', ['b'])
  const { runId } = await trigger('a')
  assertProblem(await call('POST', `/graph-runs/${runId}/resume`), 'GRAPH_RUN_NOT_FINISHED')
  await run()
  await run(failure)
  const failed = (await call('GET', `/graph-runs/${runId}`)).json()
  assert.equal(failed.status, 'FAILED')
  woken.length = 0
  const once = { 'idempotency-key': 'again' }
  const answer = await call('POST', `/graph-runs/${runId}/resume`, {}, once)
  assert.equal(answer.statusCode, 202, answer.body)
  assert.deepEqual(woken, ['queue', 'waiting'])
  const { execution_ids: executionIds, ...rest } = answer.json()
  assert.deepEqual(rest, { graph_run_id: runId, status: 'RUNNING' })
  assert.equal((await call('POST', `/graph-runs/${runId}/resume`, {}, once)).body, answer.body)
  assert.deepEqual(await statuses(runId), { a: 'SUCCEEDED', b: 'PENDING', c: 'WAITING_DEPENDENCIES' })
  await run()
  await run()
  const shown = (await call('GET', `/graph-runs/${runId}`)).json()
  assert.deepEqual([shown.status, shown.resumes], ['SUCCEEDED', 1])
  const inner = shown.nodes.slice(1) as { execution_id: string; replaced: string[] }[]
  assert.deepEqual(
    inner.map((node) => node.execution_id),
    executionIds,
  )
  assert.deepEqual(
    inner.map((node) => node.replaced),
    failed.nodes.slice(1).map((node: { execution_id: string }) => [node.execution_id]),
  )
  assertProblem(await call('POST', `/graph-runs/${runId}/resume`), 'NOTHING_TO_RESUME')
})

test('a run is not resumed while another of its root is under way', async (t) => {
  const { make, idOf, call, trigger, run } = await setupGraphApp(t)
  await make('a')
  await make('b', ['a'])
  const { runId } = await trigger('a')
  await run(failure)
  const other = await trigger('a')
  const answer = await call('POST', `/graph-runs/${runId}/resume`)
  assertProblem(answer, 'GRAPH_RUN_OVERLAP')
  assert.equal(
    answer.json().detail,
    `The graph run ${runId} cannot be resumed: for its root, the job ${idOf('a')}, the graph run ${other.runId} is in progress.`,
  )
})

test('a run is not resumed while an execution of its root runs, and the refusal names it', async (t) => {
  const { make, call, trigger, run } = await setupGraphApp(t)
  await make('a')
  await make('b', ['a'])
  const { runId, executionId } = await trigger('a')
  await run(failure)
  const again = (await call('POST', `/executions/${executionId}/retry`)).json().execution_id
  const answer = await call('POST', `/graph-runs/${runId}/resume`)
  assertProblem(answer, 'GRAPH_RUN_OVERLAP')
  assert(answer.json().detail.endsWith(`the execution ${again} is in progress.`), answer.body)
})

test('executions that wait for others can be found, and cancelled many at once', async (t) => {
  const { make, call, trigger } = await setupGraphApp(t)
  await make('a')
  await make('b', ['a'])
  await make('c', ['b'])
  await trigger('a')
  const found = (await call('GET', '/executions?status=WAITING_DEPENDENCIES')).json()
  assert.deepEqual(found.executions.map((one: { job_name: string }) => one.job_name).toSorted(), ['b', 'c'])
  const filter = { status: 'WAITING_DEPENDENCIES' }
  const answer = await call('POST', '/executions/cancel', { filter })
  assert.equal(answer.statusCode, 202, answer.body)
  assert.equal(answer.json().progress.total, 2)
})

test('an unknown run is not found by any call', async (t) => {
  const { call } = await setupGraphApp(t)
  for (const id of [nobody, 'x', `${nobody}0`, '%00']) {
    assertProblem(await call('GET', `/graph-runs/${id}`), 'GRAPH_RUN_NOT_FOUND')
    for (const verb of ['cancel', 'resume'])
      assertProblem(await call('POST', `/graph-runs/${id}/${verb}`), 'GRAPH_RUN_NOT_FOUND')
  }
  assertProblem(
    await call('POST', `/graph-runs/${nobody}/resume`, { force: true }),
    'INVALID_REQUEST',
    '/force',
  )
})
