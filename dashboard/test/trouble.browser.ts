// Trouble first: a job that fails stands at the top, with its error, however long ago it failed.
import assert from 'node:assert/strict'
import test from 'node:test'
import { Api, until } from './api.ts'
import { openPage, phone } from './open-page.ts'
import { ServerProcess } from './server-process.ts'
import { serverOf } from './servers.ts'

const { api } = serverOf('plain')
const server = serverOf('plain')

interface Listed {
  jobs: { job_id: string; consecutive_failures: number }[]
}

/** A job that failed so often in a row. */
async function breakJob(name: string, failures: number): Promise<string> {
  const { job_id: jobId } = await api.makeFailingJob({ name, tags: ['trouble'] })
  for (let n = 0; n < failures; n++) await api.untilStatus(await api.trigger(jobId), 'FAILED')
  await until(async () => {
    const { jobs } = await api.get<Listed>('/jobs?health=FAILING')
    return jobs.some((job) => job.job_id === jobId && job.consecutive_failures === failures)
  }, `${name} is known to fail`)
  return jobId
}

test('the list of jobs begins with the one that fails, and a tab has the failing ones alone', async (t) => {
  const jobId = await breakJob('Send the invoices', 2)
  await api.makeJob({ name: 'Count the invoices', tags: ['trouble'] })
  const page = await openPage(t, { server })
  await page.goto('/jobs?tag=trouble')
  const rows = page.getByRole('table', { name: 'Jobs' }).getByRole('row')
  const first = rows.nth(1)
  await first.getByRole('link', { name: 'Send the invoices' }).waitFor()
  await first.getByText('2 times · HTTP 503').waitFor()
  await rows.nth(2).getByText('no result yet').waitFor()
  await page.getByRole('tab', { name: 'Failing 1', exact: true }).click()
  await page.waitForURL((url) => url.searchParams.get('health') === 'FAILING')
  assert.equal(url(page).get('tag'), 'trouble', 'the other filters stay')
  await first.getByRole('link', { name: 'Send the invoices' }).waitFor()
  await rows.nth(2).waitFor({ state: 'detached' })
  await page.getByRole('tab', { name: 'Paused 0' }).click()
  await page.getByText('No job matches.').waitFor()
  await page.reload()
  await page.getByRole('tab', { name: 'Paused 0', selected: true }).waitFor()

  await page.goto('/jobs?tag=trouble')
  await first.getByRole('link', { name: 'failed' }).click()
  await page.waitForURL('**/executions/*')

  // Nobody reloads the page: a deleted job leaves the list of failing jobs.
  await page.goto('/jobs?tag=trouble&health=FAILING')
  await page.getByRole('link', { name: 'Send the invoices' }).waitFor()
  await api.delete(`/jobs/${jobId}`)
  await page.getByText('No job matches.').waitFor()
})

test('on a phone a row of the list says how the job went last', async (t) => {
  await breakJob('Print the labels', 1)
  const page = await openPage(t, { server, viewport: phone, isMobile: true, hasTouch: true })
  await page.goto('/jobs?q=Print the labels')
  const row = page.getByRole('table', { name: 'Jobs' }).getByRole('row').nth(1)
  await row.getByText('HTTP 503').waitFor()
})

const url = (page: { url(): string }) => new URL(page.url()).searchParams

test('the first screen of a phone names the broken job, with its error and its actions', async (t) => {
  const jobId = await breakJob('Charge the cards', 3)
  const page = await openPage(t, {
    server,
    viewport: { width: 390, height: 844 },
    isMobile: true,
    hasTouch: true,
  })
  await page.goto('/')
  const card = page.getByRole('listitem').filter({ hasText: 'Charge the cards' })
  await card.getByText('3 failures in a row').waitFor()
  await card.getByText('503').first().waitFor()
  const box = (await card.boundingBox())!
  assert(box.y + box.height < 844, `it ends at ${box.y + box.height} px`)
  const tiles = page.getByRole('list', { name: 'At a glance' })
  assert.deepEqual(await tiles.locator('.tile-name').allTextContents(), [
    'Failing',
    'Dead letters',
    'Late',
    'On time',
  ])
  await card.getByRole('button', { name: 'Redrive 3 dead letters of Charge the cards' }).tap()
  const dialog = page.getByRole('dialog', { name: 'Redrive the dead letters of Charge the cards' })
  await dialog.getByText('3 dead letters').waitFor()
  await page.keyboard.press('Escape')
  await card.getByRole('button', { name: 'Pause Charge the cards' }).tap()
  await page.getByRole('dialog').getByRole('button', { name: 'Pause job' }).tap()
  await card.getByText('paused', { exact: true }).waitFor()
  await card.getByRole('link', { name: 'Open' }).tap()
  await page.waitForURL('**/executions/*')

  // A deleted job is no trouble any more.
  await page.goto('/')
  await card.waitFor()
  await api.delete(`/jobs/${jobId}`)
  await card.waitFor({ state: 'detached' })
})

test('with the server gone nothing reassures: the last figures stay, and say how old they are', async (t) => {
  const gone = await ServerProcess.start()
  t.after(() => gone.remove())
  await new Api(gone).makeJob({ name: 'Ring the bell', schedule: 'every 2 seconds' })
  const page = await openPage(t, {
    server: gone,
    expects: [/ERR_(CONNECTION|INCOMPLETE|EMPTY|NETWORK)|503 /],
  })
  await page.goto('/')
  await page.getByText('No job is failing.').waitFor()
  await page.getByText('All on time.').waitFor()
  await gone.stop()
  await page
    .getByText(/^The server does not answer\. Everything below is as of (\S+ )?\d\d:\d\d:\d\d\.$/)
    .waitFor()
  for (const text of ['No job is failing.', 'All on time.', 'Nothing running.'])
    assert.equal(await page.getByText(text).count(), 0, text)
  await page.getByRole('list', { name: 'At a glance' }).getByText('Failing').waitFor()
  await page.getByRole('region', { name: 'Late or missed' }).waitFor()
})

test('while the results of jobs are behind, the screens say so, and not that no job is failing', async (t) => {
  const page = await openPage(t, { server })
  await page.route('**/api/v1/jobs?*', async (route) => {
    const response = await route.fetch()
    const reply = (await response.json()) as { pagination: object }
    const pagination = { ...reply.pagination, total: 0 }
    const json = { ...reply, jobs: [], pagination, health_as_of: '2020-01-01T00:00:00Z' }
    await route.fulfill({ response, json })
  })
  await page.goto('/')
  await page.getByText('The results of jobs are as of 2020-01-01').waitFor()
  assert.equal(await page.getByText('No job is failing.').count(), 0)
  await page.goto('/jobs?health=FAILING')
  await page.getByText('The results of jobs are as of 2020-01-01').waitFor()
})
