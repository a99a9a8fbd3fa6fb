// One tenant tries everything on another: every operation of the OpenAPI document, with the other's ids, keys, cursors,
// tags and texts. It reads nothing of the other's, and changes nothing of it. A whole server on a real PostgreSQL.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import type pg from 'pg'
import { readConfig } from '../../src/config/read.ts'
import { startServer } from '../../src/wiring/server.ts'
import { tokensOf } from '../attempt-tokens.ts'
import { cleanUp } from '../cleanup.ts'
import { connect, createDatabase } from '../database.ts'
import { type OpenApiDocument, type Operation, operationsOf } from '../fuzz/document.ts'

const operatorKey = 'crl_probe-operator-key'
/** In every text that belongs to the victim, and nowhere else. */
const mark = 'zebrafish'

interface Answer {
  status: number
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: answers of all kinds
  json: any
}

async function setup(t: TestContext) {
  const address = await createDatabase(t)
  const config = readConfig({
    ...{ CARILLON_PORT: '0', CARILLON_DRAIN_SECONDS: '1', CARILLON_LOG_LEVEL: 'silent' },
    // The victim is not the operator's own tenant, and its targets are on loopback.
    CARILLON_ALLOW_PRIVATE_TARGETS: 'true',
  })
  const api = { operatorKey }
  const server = await startServer({ config, roles: config.roles, address, api })
  cleanUp(t, () => server.stop())
  const client = await connect(t, address)
  const call = async (
    key: string,
    method: string,
    path: string,
    body?: unknown,
    more: Record<string, string> = {},
  ): Promise<Answer> => {
    const headers: Record<string, string> = { authorization: `Bearer ${key}`, ...more }
    if (body !== undefined) headers['content-type'] = 'application/json'
    const request = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) }
    const response = await fetch(`${server.url}${path}`, request)
    const text = await response.text()
    return { status: response.status, text, json: text.startsWith('{') ? JSON.parse(text) : null }
  }
  const document = (await call(operatorKey, 'GET', '/openapi.json')).json as OpenApiDocument
  return { call, client, operations: operationsOf(document) }
}

type Probe = Awaited<ReturnType<typeof setup>>

/** A tenant that has something of every kind. */
async function addVictim({ call, client }: Probe) {
  const v1 = (path: string) => `/api/v1${path}`
  const must = async (key: string, method: string, path: string, body?: unknown, more = {}) => {
    const answer = await call(key, method, v1(path), body, more)
    assert(answer.status < 300, `${method} ${path}: ${answer.status} ${answer.text}`)
    return answer.json
  }
  const { tenant_id: tenantId } = await must(operatorKey, 'POST', '/tenants', { name: `${mark} tenant` })
  const operator = { 'x-tenant-id': tenantId }
  const made = { name: `${mark} key`, scopes: ['admin'] }
  const { key, key_id: keyId } = await must(operatorKey, 'POST', '/api-keys', made, operator)
  // Nobody listens there, so each ends as a dead letter.
  const execution = { callback_url: `http://127.0.0.1:9/${mark}`, payload: { secret: mark } }
  const retry_policy = { max_retries: 0 }
  const common = { execution, retry_policy, tags: [mark], metadata: { owner: mark } }
  const daily = { type: 'CRON', cron_expression: '0 10 1 1 *' }
  const job = await must(key, 'POST', '/jobs', {
    name: `${mark} a`,
    key: `${mark}.a`,
    schedule: daily,
    ...common,
  })
  await must(key, 'POST', '/jobs', { name: `${mark} b`, schedule: daily, ...common })
  await must(key, 'POST', '/jobs', { name: `${mark} c`, schedule: daily, ...common })
  const ended = await must(key, 'POST', `/jobs/${job.job_id}/trigger`)
  await untilDead(key, must)
  await must(key, 'PATCH', `/jobs/${job.job_id}/pause`, { reason: mark })
  const bulk = await must(key, 'POST', '/jobs/bulk', { action: 'pause', filter: { tag: 'none' } })
  const idempotencyKey = `${mark}-once`
  await must(key, 'POST', `/jobs/${job.job_id}/trigger`, {}, { 'idempotency-key': idempotencyKey })
  const entries = [{ date: '2026-12-25' }]
  await must(key, 'PUT', `/calendars/${mark}.days`, { description: `${mark} days`, entries })
  await must(key, 'PUT', `/calendars/${mark}.more`, { description: `${mark} more`, entries })
  const exclusions = [{ calendar: `${mark}.days` }]
  await must(key, 'POST', '/jobs', { name: `${mark} d`, schedule: { ...daily, exclusions }, ...common })
  await client.query(
    `INSERT INTO artifacts (tenant_id, artifact_id, sha256, bytes, content, created_at, created_by)
      VALUES ($1, $2, repeat('a', 64), 1, '\\x00', now(), $3)`,
    [tenantId, `${mark}.bundle`, `${mark} key`],
  )
  const root = await must(key, 'POST', '/jobs', { name: `${mark} f`, schedule: daily, ...common })
  const after = { depends_on: [{ job_id: root.job_id, on: 'success' }] }
  await must(key, 'POST', '/jobs', { name: `${mark} g`, ...after, ...common })
  const { graph_run_id: runId } = await must(key, 'POST', `/jobs/${root.job_id}/trigger`)
  const { graph_run_id: secondRunId } = await must(key, 'POST', `/jobs/${root.job_id}/trigger`)
  await untilFailed([runId, secondRunId], (path) => must(key, 'GET', path))
  const worker = await must(key, 'POST', '/workers', { handlers: [`${mark}.run`], host: `${mark} host` })
  const run = { type: 'worker', handler: `${mark}.run`, payload: { secret: mark } }
  const long = await must(key, 'POST', '/jobs', { name: `${mark} e`, schedule: daily, execution: run })
  await must(key, 'POST', `/jobs/${long.job_id}/trigger`)
  // Its worker holds it all the time.
  const { executions } = await must(key, 'POST', '/workers/claim', { worker_id: worker.worker_id })
  const { execution_id, attempt_number, fence } = executions[0]
  const held = { execution_id, attempt_number, fence } as { execution_id: string }
  const said = {
    checkpoint: { secret: mark },
    message: mark,
    logs: { first_line: 0, lines: [{ message: mark }] },
  }
  const beat = { worker_id: worker.worker_id, running: [{ ...held, ...said }] }
  await must(key, 'POST', '/workers/heartbeat', beat)
  const cursors = {
    jobs: (await must(key, 'GET', '/jobs?limit=1')).pagination.next_cursor as string,
    executions: (await must(key, 'GET', '/executions?limit=1')).pagination.next_cursor as string,
    calendars: (await must(key, 'GET', '/calendars?limit=1')).pagination.next_cursor as string,
    runs: (await must(key, 'GET', '/graph-runs?limit=1')).pagination.next_cursor as string,
    logs: (await must(key, 'GET', `/executions/${held.execution_id}/logs`)).next_cursor as string,
  }
  const ids = {
    job_id: job.job_id as string,
    execution_id: ended.execution_id as string,
    operation_id: bulk.operation_id as string,
    key_id: keyId as string,
    tenant_id: tenantId as string,
    key: `${mark}.a`,
    name: `${mark}.days`,
    worker_id: worker.worker_id as string,
    artifact_id: `${mark}.bundle`,
    graph_run_id: runId as string,
  }
  return { held, tenantId: tenantId as string, key: key as string, ids, cursors, idempotencyKey }
}

async function untilDead(
  key: string,
  must: (key: string, method: string, path: string) => Promise<Answer['json']>,
) {
  for (let looks = 0; looks < 1_000; looks++) {
    if ((await must(key, 'GET', '/dead-letters')).dead_letters.length > 0) return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new Error('no dead letter came')
}

/** Their root calls nobody, so each ends so. */
async function untilFailed(runIds: readonly string[], get: (path: string) => Promise<Answer['json']>) {
  for (let looks = 0; looks < 1_000; looks++) {
    const { graph_runs: runs } = await get('/graph-runs?status=FAILED')
    const failed = new Set(runs.map((run: { graph_run_id: string }) => run.graph_run_id))
    if (runIds.every((id) => failed.has(id))) return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new Error('the runs do not end')
}

/** All rows of the victim as text, without columns that change on their own. */
async function rowsOf(client: pg.Client, tenantId: string): Promise<string> {
  const queries = [
    `SELECT to_jsonb(t) FROM tenants t WHERE tenant_id = $1`,
    `SELECT to_jsonb(k) - 'last_used_at' FROM api_keys k WHERE tenant_id = $1 ORDER BY key_id`,
    `SELECT to_jsonb(j) FROM jobs j WHERE tenant_id = $1 ORDER BY job_id`,
    `SELECT to_jsonb(v) FROM job_versions v WHERE tenant_id = $1 ORDER BY job_id, version`,
    `SELECT to_jsonb(c) FROM cursors c WHERE tenant_id = $1 ORDER BY job_id`,
    `SELECT to_jsonb(s) FROM skips s JOIN jobs j USING (job_id) WHERE tenant_id = $1 ORDER BY s.job_id, from_slot`,
    `SELECT to_jsonb(l) FROM live l WHERE tenant_id = $1 ORDER BY execution_id`,
    `SELECT to_jsonb(a) FROM attempts a WHERE tenant_id = $1 ORDER BY execution_id, attempt`,
    `SELECT to_jsonb(e) FROM job_edges e JOIN jobs j ON j.job_id = e.child_id OR j.job_id = e.parent_id
      WHERE tenant_id = $1 ORDER BY child_id, parent_id`,
    `SELECT to_jsonb(r) FROM graph_runs r WHERE tenant_id = $1 ORDER BY run_id`,
    `SELECT to_jsonb(r) FROM run_roots r JOIN jobs j USING (job_id) WHERE tenant_id = $1 ORDER BY r.run_id`,
    `SELECT to_jsonb(d) FROM dead_letters d WHERE tenant_id = $1 ORDER BY execution_id`,
    `SELECT to_jsonb(o) FROM operations o WHERE tenant_id = $1 ORDER BY operation_id`,
    `SELECT to_jsonb(c) FROM calendars c WHERE tenant_id = $1 ORDER BY name`,
    `SELECT to_jsonb(i) FROM idempotency_keys i WHERE tenant_id = $1 ORDER BY key`,
    `SELECT to_jsonb(w) - 'beats' - 'beat_at' FROM workers w WHERE tenant_id = $1 ORDER BY worker_id`,
    `SELECT to_jsonb(l) FROM logs l WHERE tenant_id = $1 ORDER BY execution_id, attempt, first_line`,
    `SELECT to_jsonb(a) - 'content' FROM artifacts a WHERE tenant_id = $1 ORDER BY artifact_id`,
  ]
  const texts: string[] = []
  for (const query of queries) {
    const { rows } = await client.query({ text: query, values: [tenantId], rowMode: 'array' })
    texts.push(`${query}\n${rows.map((row) => JSON.stringify(row[0])).join('\n')}`)
  }
  return texts.join('\n')
}

/** Waits until nothing of the victim is in progress except the executions in flight at its own worker. */
async function settled({ client }: Probe, tenantId: string): Promise<string> {
  for (let looks = 0; looks < 1_000; looks++) {
    const { rows } = await client.query(
      `SELECT (SELECT count(*) FROM live l WHERE tenant_id = $1 AND NOT EXISTS (
          SELECT 1 FROM workers w WHERE w.worker_id = l.worker_id AND w.tenant_id = $1)) + (
        SELECT count(*) FROM operations WHERE tenant_id = $1 AND status = 'RUNNING') AS moving`,
      [tenantId],
    )
    if (Number(rows[0].moving) === 0) return rowsOf(client, tenantId)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new Error('the victim does not come to rest')
}

const scheduleBody = {
  schedule: '0 9 * * *',
  name: 'intruder',
  execution: { callback_url: 'http://127.0.0.1:9/' },
}

/** The requests sent to each operation besides the ids in its path: at least one body that would do harm. */
function harmTo(
  operation: Operation,
  victim: Awaited<ReturnType<typeof addVictim>>,
  ownWorkerId: string,
): unknown[] {
  const { ids, held } = victim
  const logs = { first_line: 0, lines: [{ message: 'forged' }] }
  const word = { ...held, logs, checkpoint: 'forged', progress: 1 }
  const result = { ...held, logs, status: 'succeeded', result: 'forged' }
  const by = [{ worker_id: ids.worker_id }, { worker_id: ownWorkerId }]
  const dependsOn = { depends_on: [{ job_id: ids.job_id }] }
  const excluding = { cron_expression: '0 9 * * *', exclusions: [{ calendar: ids.name }] }
  const bodies: Record<string, unknown[]> = {
    'PATCH /api/v1/jobs/{job_id}': [{ name: 'taken over' }, dependsOn],
    'PUT /api/v1/jobs/by-key/{key}': [scheduleBody, { ...scheduleBody, ...dependsOn }],
    'POST /api/v1/jobs': [
      scheduleBody,
      { ...scheduleBody, key: ids.key },
      { ...scheduleBody, schedule: excluding },
      { ...scheduleBody, ...dependsOn },
    ],
    'POST /api/v1/jobs/bulk': [
      { action: 'delete', filter: { tag: mark } },
      { action: 'pause', filter: { q: mark } },
      { action: 'trigger', filter: { status: 'PAUSED' } },
    ],
    'PATCH /api/v1/dead-letters/{execution_id}': [{ payload: 'changed' }],
    'POST /api/v1/dead-letters/redrive': [
      { execution_ids: [ids.execution_id] },
      { filter: { job_id: ids.job_id } },
      { filter: {} },
    ],
    'POST /api/v1/schedules/preview': [
      { schedule: '0 9 * * *', job_id: ids.job_id },
      { schedule: excluding },
    ],
    'POST /api/v1/executions/cancel': [{ filter: { job_id: ids.job_id } }, { filter: { tag: mark } }],
    'POST /api/v1/jobs/{job_id}/backfill': [{ from: '2020-01-01T00:00:00Z', to: '2025-12-31T23:59:59Z' }],
    'PUT /api/v1/calendars/{name}': [{ entries: [] }],
    'POST /api/v1/tenants': [{ name: 'another' }, { name: `${mark} tenant` }],
    'PATCH /api/v1/tenants/{tenant_id}': [{ name: 'taken over' }],
    'POST /api/v1/api-keys': [
      { name: 'another', scopes: ['read'] },
      { name: 'more', scopes: ['admin'], operator: true },
    ],
    'PATCH /api/v1/api-keys/{key_id}': [{ name: 'taken over' }],
    'POST /api/v1/workers': [{ handlers: [`${mark}.run`] }],
    'POST /api/v1/workers/claim': [...by, { ...by[1], running: [held.execution_id] }],
    'POST /api/v1/workers/heartbeat': by.map((one) => ({ ...one, running: [word] })),
    'POST /api/v1/workers/report': by.map((one) => ({ ...one, results: [result] })),
    'POST /api/v1/executions/{execution_id}/complete': [{ status: 'succeeded', result: 'forged' }],
    'POST /api/v1/executions/{execution_id}/heartbeat': [{ checkpoint: 'forged' }],
    'POST /api/v1/executions/{execution_id}/logs': [logs],
  }
  if (operation.method === 'GET' || operation.method === 'DELETE') return [undefined]
  return bodies[operation.name] ?? [undefined]
}

/** The query strings with which a list is requested in addition. */
function queriesOf(operation: Operation, victim: Awaited<ReturnType<typeof addVictim>>): string[] {
  const { ids, cursors } = victim
  const values: Record<string, string[]> = {
    tag: [mark],
    q: [mark],
    job_id: [ids.job_id],
    cursor: Object.values(cursors),
    status: ['PAUSED', 'FAILED', 'RUNNING'],
  }
  const names = operation.parameters.filter((one) => one.in === 'query').map(({ name }) => name)
  const single = names.flatMap((name) =>
    (values[name] ?? []).map((value) => `?${name}=${encodeURIComponent(value)}`),
  )
  return ['', ...single]
}

/** Whether the client chooses the name in the path: the objects it creates and deletes by such a name are its own. */
function makesItsOwn({ path, method }: Operation): boolean {
  return path.includes('/by-key/') || (/\/(calendars|artifacts)\//.test(path) && method !== 'GET')
}

test('a tenant reads and changes nothing of another, for every request it can send', async (t) => {
  const probe = await setup(t)
  const victim = await addVictim(probe)
  const { tenant_id: intruderId } = (
    await probe.call(operatorKey, 'POST', '/api/v1/tenants', { name: 'intruder' })
  ).json
  const wish = { name: 'intruder', scopes: ['admin'] }
  const made = await probe.call(operatorKey, 'POST', '/api/v1/api-keys', wish, { 'x-tenant-id': intruderId })
  const intruder = made.json.key as string
  const registered = { handlers: [`${mark}.run`] }
  const own = (await probe.call(intruder, 'POST', '/api/v1/workers', registered)).json.worker_id as string
  const tokenOf = await tokensOf(probe.client, intruderId)
  // Tokens for an attempt of the intruder, and one it could forge from that for an attempt of the victim.
  const tokens = ['0192abcd-ef01-7000-8000-000000000001', victim.held.execution_id].map((id) => tokenOf(id))
  /** Both workers live through all of it. */
  const beat = async () => {
    await probe.call(victim.key, 'POST', '/api/v1/workers/heartbeat', {
      worker_id: victim.ids.worker_id,
      running: [victim.held],
    })
    await probe.call(intruder, 'POST', '/api/v1/workers/heartbeat', { worker_id: own })
  }
  await beat()
  const before = await settled(probe, victim.tenantId)
  assert(before.split(mark).length > 20, 'the victim has too little to steal')
  let asked = 0
  for (const operation of probe.operations.filter(({ path }) => path.startsWith('/api/v1/'))) {
    await beat()
    const named = operation.path.replace(/\{(\w+)\}/g, (_all, name: string) => {
      // The execution in flight at the victim's worker, where another client could report on it.
      const isHeld = name === 'execution_id' && (operation.tokened || operation.path.endsWith('/logs'))
      const id = isHeld ? victim.held.execution_id : victim.ids[name as keyof typeof victim.ids]
      assert(id !== undefined, `the probe has no {${name}} for ${operation.name}`)
      return id
    })
    for (const query of queriesOf(operation, victim)) {
      for (const body of harmTo(operation, victim, own)) {
        for (const more of [
          {},
          { 'idempotency-key': victim.idempotencyKey },
          { 'if-match': '*' },
          ...tokens.map((token) => ({ 'x-carillon-token': token })),
        ] as object[]) {
          const answer = await probe.call(
            intruder,
            operation.method,
            named + query,
            body,
            more as Record<string, string>,
          )
          asked += 1
          const said = `${operation.name} ${query} ${JSON.stringify(body)}: ${answer.status} ${answer.text}`
          assert(answer.status < 500, said)
          // The response may repeat values from the intruder's own request; it must not reveal values that the request
          // did not contain.
          const told = answer.text
            .replaceAll(victim.ids.key, '')
            .replaceAll(victim.ids.name, '')
            .replaceAll(victim.ids.artifact_id, '')
            .replaceAll(`${mark}.run`, '')
            .replaceAll(/"(tag|q)":"zebrafish"/g, '')
          assert(!told.includes(mark), said)
          if (operation.path.includes('{') && !makesItsOwn(operation)) assert(answer.status >= 400, said)
        }
      }
    }
  }
  assert.equal(await settled(probe, victim.tenantId), before)
  assert(asked > 100, `only ${asked} requests`)
  const mismatch = await probe.call(intruder, 'GET', '/api/v1/jobs', undefined, {
    'x-tenant-id': victim.tenantId,
  })
  assert.deepEqual([mismatch.status, mismatch.json.code], [403, 'TENANT_MISMATCH'])
  const shown = await probe.call(victim.key, 'GET', `/api/v1/jobs/${victim.ids.job_id}`)
  assert.deepEqual([shown.status, shown.json.name], [200, `${mark} a`])
  const reported = await probe.call(victim.key, 'POST', '/api/v1/workers/report', {
    worker_id: victim.ids.worker_id,
    results: [{ ...victim.held, status: 'succeeded' }],
  })
  assert.equal(reported.json.accepted, 1, reported.text)
})
