// Text from tenants and targets stays text: no name, tag, payload, answer, error or log line becomes a script.
import assert from 'node:assert/strict'
import test from 'node:test'
import { openPage, untilShown } from './open-page.ts'
import { serverOf } from './servers.ts'

const server = serverOf('plain')
const hostile = `<img src=x onerror="window.ran=1"><script>window.ran=1;alert(1)</script>'"\`\${1}</code></pre>`
const link = 'javascript:window.ran=1'

test('script in names, tags, payloads, answers, errors and log lines is shown as text and never runs', async (t) => {
  const { api } = server
  const job = await api.makeJob({
    name: hostile,
    description: hostile,
    tags: [hostile.slice(0, 60)],
    metadata: { note: hostile },
    retry_policy: { max_retries: 0 },
    execution: { type: 'worker', handler: 'repeat-text', payload: { text: hostile, link } },
  })
  const failing = await api.makeJob({
    name: `${link} ${hostile}`,
    retry_policy: { max_retries: 0 },
    execution: { type: 'worker', handler: 'repeat-text', payload: { text: hostile, fails: true } },
  })
  const child = await api.makeJob({
    name: `after ${hostile}`,
    schedule: undefined,
    depends_on: [{ job_id: failing.job_id }],
  })
  const succeeded = await api.trigger(job.job_id)
  const failed = await api.trigger(failing.job_id)
  await api.untilStatus(succeeded, 'SUCCEEDED')
  await api.untilStatus(failed, 'FAILED')
  const { graph_run_id: run } = await api.get<{ graph_run_id: string }>(`/executions/${failed}`)

  const page = await openPage(t, { server })
  const screens = [
    '/',
    '/executions',
    `/executions/${succeeded}`,
    `/executions/${failed}`,
    '/jobs',
    `/jobs/${job.job_id}`,
    `/jobs/${job.job_id}?tab=versions`,
    `/jobs/${job.job_id}?tab=settings`,
    `/jobs/${job.job_id}/edit`,
    `/jobs/${child.job_id}`,
    '/calendar',
    '/graphs',
    `/graphs/${run}?node=${failing.job_id}`,
    `/graphs/${run}?view=table`,
    '/dead-letters',
    `/dead-letters?letter=${failed}`,
    '/workers',
    '/sla',
  ]
  for (const screen of screens) {
    await page.goto(screen)
    await untilShown(page)
    const found = await page.evaluate(() => ({
      ran: 'ran' in window,
      made: document.querySelectorAll('main img, main script, [onerror], a[href^="javascript:"]').length,
    }))
    assert.deepEqual(found, { ran: false, made: 0 }, screen)
  }
  await page.goto(`/executions/${failed}`)
  await page.getByText(hostile).first().waitFor()
  await page.getByRole('region', { name: 'Log' }).getByText(hostile).first().waitFor()
  await page.goto(`/executions/${succeeded}`)
  await page.getByRole('heading', { level: 1 }).getByText(hostile).waitFor()
})
