// The examples of five published designs of job schedulers, sent over HTTP as they are printed there, comments aside.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { operatorKey, runAll, setupApp } from '../../../test/app.ts'
import { markOf, workerCalls } from '../../../test/worker-calls.ts'
import { defaultTenantId } from '../../domain/tenants/tenant.ts'

async function setup(t: TestContext) {
  const parts = await setupApp(t)
  const origin = await parts.app.listen({ port: 0, host: '127.0.0.1' })
  /** `GET /api/v1/jobs?…`, as it is printed; fails on any other status. */
  const send = async (status: number, line: string, text?: string, more: Record<string, string> = {}) => {
    const [method, path] = line.split(' ') as [string, string]
    const headers: Record<string, string> = { authorization: `Bearer ${operatorKey}`, ...more }
    if (text !== undefined) headers['content-type'] = 'application/json'
    const body = text === undefined ? null : withoutComments(text)
    const answer = await fetch(origin + path, { method, headers, body })
    const got = await answer.text()
    assert.equal(answer.status, status, got)
    return JSON.parse(got)
  }
  const create = (text: string) => send(201, 'POST /api/v1/jobs', text)
  return { ...parts, ...workerCalls(parts), send, create }
}

function withoutComments(text: string): string {
  return text.replaceAll(/\s(\/\/|#) .*$/gm, '')
}

test('document 0: every request of its API chapter, in order', async (t) => {
  const { send, memory, world } = await setup(t)
  const headers = { 'X-Tenant-ID': defaultTenantId, 'X-Idempotency-Key': 'unique_key' }
  const job = await send(
    201,
    'POST /api/v1/jobs',
    `{
  "name": "Daily Sales Report",
  "description": "Generate and email daily sales report",
  "schedule": {
    "type": "CRON",                         // IMMEDIATE | ONE_TIME | CRON
    "cron_expression": "0 10 * * *",        // Every day at 10:00 AM
    "timezone": "America/New_York"
  },
  "execution": {
    "callback_url": "https://reports.internal/api/generate",
    "method": "POST",
    "headers": {
      "X-API-Key": "secret123"
    },
    "payload": {
      "report_type": "daily_sales",
      "format": "pdf"
    },
    "timeout_seconds": 600
  },
  "retry_policy": {
    "max_retries": 3,
    "backoff": "EXPONENTIAL",               // LINEAR | EXPONENTIAL | FIXED
    "initial_delay_ms": 1000,
    "max_delay_ms": 60000
  },
  "priority": 3,                            // 1 (highest) - 10 (lowest)
  "tags": ["reporting", "finance"]
}`,
    headers,
  )
  assert.equal(job.status, 'ACTIVE')
  assert.equal(job.schedule.next_run_at, '2026-01-01T15:00:00Z')
  assert.equal(job.warnings, undefined)
  const path = `/api/v1/jobs/${job.job_id}`
  const details = await send(200, `GET ${path}`)
  assert.equal(details.stats.total_runs, 0)
  const list = await send(200, 'GET /api/v1/jobs?status=ACTIVE&tag=reporting&page=1&limit=50')
  assert.deepEqual(
    list.jobs.map((one: { job_id: string }) => one.job_id),
    [job.job_id],
  )
  assert.equal((await send(200, `PATCH ${path}/pause`)).status, 'PAUSED')
  assert.equal((await send(200, `PATCH ${path}/resume`)).status, 'ACTIVE')
  const triggered = await send(
    202,
    `POST ${path}/trigger`,
    `{
  "payload_override": {
    "report_type": "daily_sales",
    "date": "2025-01-07"
  }
}`,
  )
  assert.equal(triggered.status, 'PENDING')
  await runAll({ memory, world }, { outcome: 'failed', httpStatus: 404, deadReason: 'NOT_RETRYABLE' })
  const range = 'start_date=2026-01-01&end_date=2026-01-08'
  const history = await send(200, `GET ${path}/executions?status=FAILED&${range}&limit=100`)
  assert.equal(history.executions[0].execution_id, triggered.execution_id)
  const before = 'start_date=2025-01-01&end_date=2025-01-08'
  assert.deepEqual(
    (await send(200, `GET ${path}/executions?status=FAILED&${before}&limit=100`)).executions,
    [],
  )
  const execution = await send(200, `GET /api/v1/executions/${triggered.execution_id}`)
  assert.deepEqual(execution.payload, { report_type: 'daily_sales', date: '2025-01-07' })
  assert.equal((await send(200, `DELETE ${path}`)).status, 'DELETED')
})

test('document 0: the row of its table of jobs', async (t) => {
  const { create } = await setup(t)
  const job = await create(`{
    "name": "Daily Sales Report", "description": "Every five minutes",
    "schedule_type": "CRON", "cron_expression": "*/5 * * * *", "timezone": "UTC", "scheduled_time": null,
    "callback_url": "https://reports.internal/api/generate", "callback_method": "POST",
    "headers": { "X-API-Key": "secret123" }, "payload": { "report_type": "daily_sales" }, "timeout_seconds": 300,
    "max_retries": 3, "retry_backoff": "EXPONENTIAL", "retry_delay_ms": 1000, "max_retry_delay_ms": 60000,
    "priority": 5, "tags": ["reporting"], "status": "ACTIVE"
  }`)
  const { next_run_at, last_run_at, ...schedule } = job.schedule
  assert.deepEqual(schedule, { type: 'CRON', cron_expression: '*/5 * * * *', timezone: 'UTC' })
  assert.deepEqual(job.execution, {
    type: 'http',
    callback_url: 'https://reports.internal/api/generate',
    method: 'POST',
    headers: { 'X-API-Key': '***' },
    payload: { report_type: 'daily_sales' },
    timeout_seconds: 300,
  })
  assert.deepEqual(job.retry_policy, {
    max_retries: 3,
    backoff: 'EXPONENTIAL',
    initial_delay_ms: 1_000,
    max_delay_ms: 60_000,
  })
})

test('document 1: the row of its table of jobs, with an interval or cron in a zone', async (t) => {
  const { create, send } = await setup(t)
  const row = (schedule: string) => `{
    "name": "rollup", "schedule": "${schedule}", "timezone": "America/New_York", "payload": { "table": "sales" },
    "executor_type": "http_callback", "executor_config": { "url": "https://rollup.internal/run" },
    "max_retries": 3, "retry_backoff": "exponential", "timeout_sec": 300, "status": "active"
  }`
  const job = await create(row('0 9 * * *'))
  // 9 AM in the zone of the job, as the document warns.
  assert.equal(job.schedule.next_run_at, '2026-01-01T14:00:00Z')
  assert.equal(job.schedule.timezone, 'America/New_York')
  assert.deepEqual(job.execution, {
    type: 'http',
    callback_url: 'https://rollup.internal/run',
    method: 'POST',
    headers: {},
    payload: { table: 'sales' },
    timeout_seconds: 300,
  })
  assert.equal(job.retry_policy.backoff, 'EXPONENTIAL')
  assert.equal(job.retry_policy.max_retries, 3)
  const interval = await create(row('PT5M'))
  assert.equal(interval.schedule.type, 'INTERVAL')
  assert.equal(interval.schedule.timezone, 'America/New_York')
  const active = await send(200, 'GET /api/v1/jobs?status=active')
  assert.equal(active.jobs.length, 2)
})

test('document 1: the row of a job that runs a shell command', async (t) => {
  const { create } = await setup(t)
  const job = await create(`{
    "name": "rollup", "schedule": "0 9 * * *", "timezone": "UTC", "payload": { "table": "sales" },
    "executor_type": "shell", "executor_config": { "command": "/usr/local/bin/rollup", "args": ["--table", "sales"] },
    "max_retries": 3, "retry_backoff": "exponential", "timeout_sec": 300, "status": "active", "next_run_at": null
  }`)
  assert.deepEqual(job.execution, {
    type: 'shell',
    command: '/usr/local/bin/rollup',
    args: ['--table', 'sales'],
    env: {},
    payload: { table: 'sales' },
    timeout_seconds: 300,
  })
  assert.equal(job.schedule.next_run_at, '2026-01-01T09:00:00Z')
})

test('document 1: its executor types that are not built are refused by name', async (t) => {
  const { send } = await setup(t)
  const configs = {
    kafka_topic: { topic: 'rollups' },
    lambda: { function_arn: 'arn:aws:lambda:eu-west-1:1:function:rollup' },
  }
  for (const [type, config] of Object.entries(configs)) {
    const row = { name: 'rollup', schedule: '0 9 * * *', executor_type: type, executor_config: config }
    const problem = await send(422, 'POST /api/v1/jobs', JSON.stringify(row))
    assert.equal(problem.code, 'NOT_SUPPORTED_YET')
    assert.deepEqual(
      problem.errors.map((one: { pointer: string }) => one.pointer),
      ['/executor_type', `/executor_config/${Object.keys(config)[0]}`],
    )
  }
})

test('document 2: the row that its INSERT makes', async (t) => {
  const { create } = await setup(t)
  const job = await create(
    `{ "name": "customer_sync", "schedule_cron": "0 2 * * *", "artifact_id": "artifact-123", "entrypoint": "main:run" }`,
  )
  assert.deepEqual(job.execution, {
    type: 'artifact',
    artifact_id: 'artifact-123',
    entrypoint: 'main:run',
    timeout_seconds: 300,
  })
  assert.equal(job.schedule.next_run_at, '2026-01-01T02:00:00Z')
})

test('document 3: its rows of recurring and of one-time jobs', async (t) => {
  const { create, send } = await setup(t)
  const row = (fields: string) => `{
    "name": "nightly", "handler": "rebuild-index", "payload": { "full": true }, ${fields},
    "priority": 5, "max_retries": 3, "retry_delay_seconds": 60, "timeout_seconds": 300, "status": "active"
  }`
  const recurring = await create(
    row('"type": "recurring", "cron_expression": "0 9 * * *", "next_run_at": null'),
  )
  assert.equal(recurring.schedule.type, 'CRON')
  assert.deepEqual(recurring.execution, {
    type: 'worker',
    handler: 'rebuild-index',
    labels: [],
    payload: { full: true },
    timeout_seconds: 300,
  })
  // 60, 120 and 240 s, as the document counts: no cap cuts the third.
  assert.deepEqual(recurring.retry_policy, {
    max_retries: 3,
    backoff: 'EXPONENTIAL',
    initial_delay_ms: 60_000,
    max_delay_ms: 86_400_000,
  })
  const once = await create(
    row('"type": "one_time", "cron_expression": null, "next_run_at": "2026-01-02T09:00:00Z"'),
  )
  assert.equal(once.schedule.type, 'ONE_TIME')
  assert.equal(once.schedule.next_run_at, '2026-01-02T09:00:00Z')
  const endpoint = await create(
    `{ "name": "a", "type": "recurring", "cron_expression": "*/15 * * * *", "handler": "https://a.example/hook" }`,
  )
  assert.equal(endpoint.execution.type, 'http')
  assert.equal(endpoint.execution.callback_url, 'https://a.example/hook')
  assert.equal((await send(200, 'GET /api/v1/jobs?status=paused')).jobs.length, 0)
  assert.equal((await send(200, 'GET /api/v1/jobs?status=cancelled')).jobs.length, 0)
})

test('document 4: its requests, and a worker runs the handler named after the job', async (t) => {
  const { create, send, register, take, report } = await setup(t)
  const job = await create(`{
  "name": "send_report",
  "schedule": "0 9 * * *",  # Cron
  "payload": { "report_type": "sales" },
  "timeout_seconds": 3600,
  "max_attempts": 3,
  "priority": 5
}`)
  assert.equal(job.schedule.next_run_at, '2026-01-01T09:00:00Z')
  assert.equal(job.priority, 5)
  assert.equal(job.retry_policy.max_retries, 2)
  assert.deepEqual(job.execution, {
    type: 'worker',
    handler: 'send_report',
    labels: [],
    payload: { report_type: 'sales' },
    timeout_seconds: 3_600,
  })
  assert.equal(job.warnings.length, 1)
  assert.match(job.warnings[0], /handler of its own name, send_report\b/)
  const path = `/api/v1/jobs/${job.job_id}`
  assert.equal((await send(200, `GET ${path}`)).name, 'send_report')
  const list = await send(200, 'GET /api/v1/jobs?status=scheduled&limit=100')
  assert.equal(list.jobs[0].job_id, job.job_id)

  const { execution_id: executionId } = await send(202, `POST ${path}/trigger`)
  const workerId = await register({ handlers: ['send_report'] })
  const [claimed] = await take(workerId)
  assert.equal(claimed?.execution_id, executionId)
  assert.deepEqual(claimed?.['payload'], { report_type: 'sales' })
  await report(workerId, [{ ...markOf(claimed!), status: 'succeeded' }])
  for (const word of ['completed', 'success', 'succeeded']) {
    const found = await send(200, `GET ${path}/executions?status=${word}`)
    assert.equal(found.executions[0]?.execution_id, executionId, word)
  }
  assert.equal((await send(200, `DELETE ${path}`)).status, 'DELETED')
  assert.equal((await send(200, 'GET /api/v1/jobs?status=cancelled')).jobs[0].job_id, job.job_id)
})

test('document 4: the row of its INSERT has a time that the schedule computes, and is refused by its name', async (t) => {
  const { send, create } = await setup(t)
  const row = {
    name: 'send_daily_report',
    schedule: '0 9 * * *',
    payload: { report_type: 'sales' },
    status: 'SCHEDULED',
  }
  const line = 'POST /api/v1/jobs'
  const problem = await send(400, line, JSON.stringify({ ...row, next_run_at: '2024-01-16 09:00:00' }))
  assert.deepEqual(
    problem.errors.map((one: { pointer: string }) => one.pointer),
    ['/next_run_at'],
  )
  assert.match(problem.detail, /is computed from the schedule; leave it out/)
  const job = await create(JSON.stringify({ ...row, next_run_at: null }))
  assert.deepEqual([job.status, job.schedule.next_run_at], ['ACTIVE', '2026-01-01T09:00:00Z'])
})

test('document 4: the retry policy of its request flow counts the first attempt', async (t) => {
  const { create, send, world, memory, register, take, report } = await setup(t)
  const job = await create(`{
     "name": "send_daily_report",
     "schedule": "0 9 * * *",  // Daily at 9 AM
     "payload": { "report_type": "sales" },
     "retry_policy": { "max_attempts": 3, "backoff": "exponential" }
   }`)
  assert.equal(job.retry_policy.max_retries, 2)
  assert.equal(job.retry_policy.backoff, 'EXPONENTIAL')
  const { execution_id: id } = await send(202, `POST /api/v1/jobs/${job.job_id}/trigger`)
  const workerId = await register({ handlers: ['send_daily_report'] })
  for (const attempt of [1, 2, 3]) {
    const [claimed] = await take(workerId)
    assert.equal(claimed?.attempt_number, attempt)
    const error = { message: 'no paper' }
    await report(workerId, [{ ...markOf(claimed!), status: 'failed', error }])
    await world.advance(5_000)
    await memory.maintenance.wake(10)
  }
  const execution = await send(200, `GET /api/v1/executions/${id}`)
  assert.equal(execution.status, 'FAILED')
  assert.equal(execution.attempts.length, 3)
})
