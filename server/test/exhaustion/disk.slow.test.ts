// H5: one tenant fills the disk with bundles that no server runs, and with versions of a job, which lose their payload.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import test from 'node:test'
import { gzipSync } from 'node:zlib'
import { versionsAnEdit } from '../../src/domain/jobs/kept-versions.ts'
import { cleanUp } from '../cleanup.ts'
import { until } from '../e2e/api.ts'
import { withTime } from '../processes/fleet.ts'
import { startLoops } from './loops.ts'
import { setupScene } from './scene.ts'

const bundles = 5
const bundleBytes = 8_000_000
const editLoops = 4
const editsMin = 100

interface Growth {
  versions: number
  whole: number
  light_bytes: number
}

/** Versions of a job ($1), the ones that still have their payload, and the bytes of the others. */
const countVersions = `
  SELECT count(*)::int AS versions, (count(*) FILTER (WHERE execution ->> 'payload' IS NOT NULL))::int AS whole,
    coalesce(
      sum(octet_length(execution::text)) FILTER (WHERE execution ->> 'payload' IS NULL), 0
    )::int AS light_bytes
  FROM job_versions
  WHERE job_id = $1`

test(
  'executions start on time, and versions lose their payload, while another tenant fills the disk',
  withTime,
  async (t) => {
    const { evil, client, assertUnhurt } = await setupScene(t, { evilTier: 'pro' })
    const jobId = await evil.createTriggered('http://127.0.0.1:9/')
    let edits = 0
    const headers = { 'content-type': 'application/json', 'if-match': '*' }
    const editing = startLoops(editLoops, async () => {
      const payload = `${edits++} ${'x'.repeat(9_000)}`
      const body = JSON.stringify({ execution: { callback_url: 'http://127.0.0.1:9/', payload } })
      await evil.send(`/jobs/${jobId}`, { method: 'PATCH', headers, body })
    })
    cleanUp(t, () => editing[Symbol.asyncDispose]())
    const uploads: number[] = []
    const uploading = startLoops(1, async () => {
      if (uploads.length === bundles) return void (await evil.call('GET', '/artifacts'))
      const { status } = await evil.send(`/artifacts/a${uploads.length}`, {
        method: 'PUT',
        headers: { 'content-type': 'application/gzip' },
        body: gzipSync(randomBytes(bundleBytes), { level: 0 }),
      })
      if (status !== 429) uploads.push(status)
    })
    cleanUp(t, () => uploading[Symbol.asyncDispose]())
    await assertUnhurt(8)
    await uploading[Symbol.asyncDispose]()
    const growth = async () => (await client.query<Growth>(countVersions, [jobId])).rows[0]!
    await until(
      async () => ((await growth()).versions >= versionsAnEdit + editsMin ? true : null),
      'it is edited',
    )
    await editing[Symbol.asyncDispose]()
    const { versions, whole, light_bytes: lightBytes } = await growth()
    t.diagnostic(`evil: ${versions} versions, ${whole} with their payload, ${lightBytes} bytes of the others`)
    assert(whole <= versions - versionsAnEdit + editLoops, `${whole} of ${versions} versions are whole`)
    assert(lightBytes < (versions - whole) * 1_000, `${lightBytes} bytes of ${versions - whole} versions`)
    const { rows } = await client.query('SELECT count(*)::int AS artifacts FROM artifacts')
    t.diagnostic(`evil: ${edits} edits, uploads ${uploads}`)
    assert.deepEqual(rows, [{ artifacts: 0 }])
    assert(
      uploads.length === bundles && uploads.every((status) => status >= 400 && status < 500),
      `${uploads}`,
    )
  },
)
