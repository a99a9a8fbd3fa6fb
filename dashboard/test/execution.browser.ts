// Executions: followed live with their log, cancelled, failed into dead letters, redriven from there, many at once.
import assert from 'node:assert/strict'
import test from 'node:test'
import { openPage } from './open-page.ts'
import { serverOf } from './servers.ts'

const server = serverOf('plain')

async function runHandler(name: string, handler: string, payload: object = {}): Promise<string> {
  const { job_id } = await server.api.makeJob({
    name,
    retry_policy: { max_retries: 0 },
    execution: { type: 'worker', handler, payload },
  })
  return server.api.trigger(job_id)
}

async function makeDeadLetter(job: { name: string } & Record<string, unknown>) {
  const { job_id } = await server.api.makeFailingJob(job)
  const execution_id = await server.api.trigger(job_id)
  await server.api.untilStatus(execution_id, 'FAILED')
  return { job_id, execution_id }
}

test('the log and the progress of an execution grow on screen until it is cancelled', async (t) => {
  const executionId = await runHandler('Copy the rows', 'copy-rows')
  const page = await openPage(t, { server })
  await page.goto(`/executions/${executionId}`)
  await page.getByRole('heading', { level: 1 }).getByText('running').waitFor()
  const log = page.getByRole('region', { name: 'Log' })
  await log
    .getByText(/^Copied row \d+ of/)
    .first()
    .waitFor()
  // It follows its end.
  await log.getByText(/^([4-9]\d|[\d,]{3,}) lines$/).waitFor()
  const lines = await log.getByText(/^[\d,]+ lines$/).innerText()
  await log.getByText(lines, { exact: true }).waitFor({ state: 'detached' })
  const bar = page.getByRole('progressbar', { name: 'Progress' })
  const before = Number(await bar.getAttribute('value'))
  await page.waitForFunction(
    (seen) => Number(document.querySelector('.execution-progress')?.getAttribute('value')) > seen,
    before,
  )
  await log.getByLabel('Search the log').fill('row 33 of')
  await log.getByText(/^1 of \d+ lines$/).waitFor()

  await page.getByRole('button', { name: 'Cancel', exact: true }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel execution' }).click()
  await page.getByRole('heading', { level: 1 }).getByText('cancelled').waitFor()
  await page.getByRole('button', { name: 'Retry', exact: true }).waitFor()
})

test('a failed execution is retried with another payload', async (t) => {
  const { execution_id } = await makeDeadLetter({ name: 'Retried with edits' })
  const page = await openPage(t, { server })
  await page.goto(`/executions/${execution_id}`)
  await page.getByTestId('why').getByText(/503/).waitFor()
  await page.getByRole('button', { name: 'Retry with edits' }).click()
  const payload = page.getByRole('textbox', { name: 'Payload' })
  await payload.fill('{ no')
  await page.getByText(/Not JSON/).waitFor()
  const retry = page.getByRole('dialog').getByRole('button', { name: 'Retry', exact: true })
  assert(await retry.isDisabled())
  await payload.fill('{"corrected": true}')
  await retry.click()
  await page.waitForURL((url) => !url.pathname.endsWith(execution_id))
  await page.getByRole('region', { name: 'Request' }).getByText('"corrected": true').waitFor()
  await page.getByText('Repeats').waitFor()
})

test('a job that fails becomes a dead letter, its payload is corrected, and it is redriven', async (t) => {
  const { job_id } = await makeDeadLetter({ name: 'Deliver the parcel' })
  const page = await openPage(t, { server })
  await page.goto('/dead-letters')
  await page.getByRole('list', { name: 'Clusters' }).getByText('Deliver the parcel').waitFor()
  await page
    .getByRole('table', { name: 'Dead letters' })
    .getByRole('link', { name: 'Deliver the parcel' })
    .click()
  const letter = page.getByRole('dialog', { name: 'Dead letter of Deliver the parcel' })
  await letter.getByText('HTTP_ERROR').first().waitFor()
  await letter.getByRole('button', { name: 'Edit payload' }).click()
  const edit = page.getByRole('dialog', { name: 'Edit the payload' })
  await edit.getByRole('textbox', { name: 'Payload' }).fill('{"order": 2}')
  await edit.getByRole('button', { name: 'Save' }).click()
  await letter.getByText('"order": 2').waitFor()
  await letter.getByRole('button', { name: 'Redrive' }).click()
  await page
    .getByRole('dialog', { name: /^Redrive/ })
    .getByRole('button', { name: 'Redrive', exact: true })
    .click()
  await page.getByText('1 dead letter redriven.').waitFor()
  await letter.waitFor({ state: 'detached' })

  await page.goto(`/executions?job_id=${job_id}&kind=redrive`)
  await page
    .getByRole('table', { name: 'Executions' })
    .getByRole('link', { name: 'Deliver the parcel' })
    .click()
  await page.getByRole('region', { name: 'Request' }).getByText('"order": 2').waitFor()
})

test('all dead letters with the same error are redriven at a rate, with progress', async (t) => {
  const { job_id } = await makeDeadLetter({ name: 'Many letters' })
  const others = await Promise.all([1, 2, 3, 4].map(() => server.api.trigger(job_id)))
  await Promise.all(others.map((id) => server.api.untilStatus(id, 'FAILED')))
  const page = await openPage(t, { server })
  await page.goto('/dead-letters')
  await page.getByRole('button', { name: 'Redrive Many letters, HTTP_ERROR' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('5 dead letters').waitFor()
  await dialog.getByRole('textbox', { name: 'Rate (per second)' }).fill('2')
  await dialog.getByText(/^It takes about \d.* s\./).waitFor()
  await dialog.getByRole('button', { name: 'Redrive 5' }).click()
  const progress = page.getByRole('region', { name: /^Operation/ })
  await progress.getByText('5 of 5 sent again').waitFor()
  await progress.getByRole('button', { name: 'Dismiss' }).click()
})

test('all jobs that match a filter are paused at once, with progress, and the filter outlives a reload', async (t) => {
  const tag = 'belfry'
  for (const number of [1, 2, 3]) await server.api.makeJob({ name: `Tower ${number}`, tags: [tag] })
  const page = await openPage(t, { server })
  await page.goto('/jobs')
  await page.getByRole('searchbox', { name: 'Tag', exact: true }).fill(tag)
  await page.waitForURL(/tag=belfry/)
  await page.getByText('3 found').waitFor()
  await page.getByRole('button', { name: 'All that match' }).click()
  await page.getByRole('menuitem', { name: 'Pause all that match …' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('3 jobs').waitFor()
  await dialog.getByRole('button', { name: 'Pause jobs (3)' }).click()
  await page
    .getByRole('region', { name: /^Operation/ })
    .getByText('3 of 3 done')
    .waitFor()
  const table = page.getByRole('table', { name: 'Jobs' })
  await untilCount(table.getByText('paused'), 3)

  await page.getByRole('tab', { name: 'Completed 0' }).click()
  await page.getByText('No job matches.').waitFor()
  await page.reload()
  await page.getByText('No job matches.').waitFor()
  assert.equal(await page.getByRole('searchbox', { name: 'Tag', exact: true }).inputValue(), tag)
  await page.getByRole('tab', { name: 'All 3' }).click()
  await untilCount(table.getByText('paused'), 3)
})

test('a graph run that failed at a node is resumed from it', async (t) => {
  const root = await server.api.makeJob({ name: 'Cast the bell' })
  const middle = await server.api.makeJob({
    name: 'Load the bell',
    schedule: undefined,
    depends_on: [{ job_id: root.job_id }],
    retry_policy: { max_retries: 0 },
    execution: { type: 'worker', handler: 'load-rows' },
  })
  await server.api.makeJob({
    name: 'Hang the bell',
    schedule: undefined,
    depends_on: [{ job_id: middle.job_id }],
  })
  await server.api.trigger(root.job_id)
  const page = await openPage(t, { server })
  await page.goto('/graphs')
  const row = page.getByRole('row').filter({ hasText: 'Cast the bell' })
  await row.getByText('failed', { exact: true }).waitFor()
  await row.getByRole('link', { name: 'Cast the bell' }).click()
  await page
    .getByRole('group', { name: /^Graph of 3 nodes/ })
    .getByText('Load the bell', { exact: true })
    .click()
  const node = page.getByRole('region', { name: 'Node Load the bell' })
  await node.getByText('The table is locked').waitFor()
  await page.getByRole('button', { name: 'Resume from this node' }).click()
  await page.getByRole('button', { name: 'Run 2 nodes again' }).click()
  await node.getByText('succeeded').first().waitFor()
  await page.getByText('3 succeeded').waitFor()
  await page.getByRole('term').filter({ hasText: 'Resumed' }).waitFor()
  await page.getByRole('tab', { name: 'Table' }).click()
  await untilCount(page.getByRole('table', { name: 'Nodes of the run' }).getByText('succeeded'), 3)
})

async function untilCount(found: ReturnType<Awaited<ReturnType<typeof openPage>>['locator']>, count: number) {
  await found.nth(count - 1).waitFor()
  assert.equal(await found.count(), count)
}
