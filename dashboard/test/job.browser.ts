// A job from its creation on: made with the builder, seen to fire, run by hand, changed, paused.
import assert from 'node:assert/strict'
import test from 'node:test'
import { openPage } from './open-page.ts'
import { serverOf } from './servers.ts'

const server = serverOf('plain')

test('a job made with the builder shows its meaning while it is written, and fires on screen', async (t) => {
  const page = await openPage(t, { server, expects: [/400 .*\/schedules\/preview/] })
  await page.goto('/jobs')
  await page.getByRole('button', { name: 'New job' }).click()
  await page.getByRole('textbox', { name: 'Name' }).fill('Ring the bell')
  const preview = page.getByRole('complementary', { name: 'Preview' })

  await page.getByRole('radio', { name: 'Cron' }).check()
  await page.getByLabel('Cron expression').fill('0 9 * * MON-FRI')
  await page.getByLabel('Time zone').fill('America/New_York')
  await preview
    .getByText(/09:00.*Monday to Friday|weekday|Monday through Friday/i)
    .first()
    .waitFor()
  const runs = preview.getByRole('list', { name: 'Next runs' }).getByRole('listitem')
  await runs
    .first()
    .getByText(/(Mon|Tue|Wed|Thu|Fri) \d{4}-\d\d-\d\d 09:00:00 -0[45]:00/)
    .waitFor()
  assert.equal(await runs.count(), 10)

  await page.getByLabel('Cron expression').fill('0 25 * * *')
  await preview.getByRole('list', { name: 'Mistakes' }).waitFor()

  await page.getByRole('radio', { name: 'Interval', exact: true }).check()
  await page.getByRole('textbox', { name: 'Every', exact: true }).fill('2')
  await page.getByRole('combobox', { name: 'Unit' }).selectOption('seconds')
  await preview
    .getByText(/every 2 seconds/i)
    .first()
    .waitFor()
  await page.getByLabel('Address').fill(`${server.url}/echo`)
  await page.getByLabel('Payload (JSON)').fill('{"bell": 1}')
  await page.getByRole('button', { name: 'Create job' }).click()
  await page.getByRole('heading', { level: 1, name: 'Ring the bell' }).waitFor()
  await page.getByText('Ring the bell is created.').waitFor()

  // Nobody reloads the page: a fired execution appears on its own.
  const fired = page.getByRole('term').filter({ hasText: 'Last status' }).locator('xpath=..')
  await fired.getByText('succeeded').waitFor()
  await page.getByRole('link', { name: 'Executions' }).click()
  await page.getByRole('button', { name: /^\d+\+? new$/ }).click()
  await page
    .getByRole('table', { name: 'Executions' })
    .getByRole('link', { name: 'Ring the bell' })
    .first()
    .waitFor()
})

test('a missing value in a new job is reported at its field', async (t) => {
  const page = await openPage(t, { server })
  await page.goto('/jobs/new')
  await page.getByRole('button', { name: 'Create job' }).click()
  const name = page.getByRole('textbox', { name: 'Name' })
  await page
    .getByRole('alert')
    .getByText(/not right yet/)
    .waitFor()
  const address = page.getByRole('textbox', { name: 'Address' })
  for (const field of [name, address]) assert.equal(await field.getAttribute('aria-invalid'), 'true')
  await page.locator(':focus').and(name).waitFor()
})

test('a job is run now and its execution is followed to its end, with its request and response', async (t) => {
  const { job_id } = await server.api.makeJob({ name: 'Run by hand' })
  const page = await openPage(t, { server })
  await page.goto(`/jobs/${job_id}`)
  await page.getByRole('button', { name: 'Run now' }).click()
  const dialog = page.getByRole('dialog', { name: 'Run Run by hand now' })
  await dialog.getByText('API & CLI equivalent').click()
  await dialog.getByText(new RegExp(`curl .*${job_id}/trigger`)).waitFor()
  await dialog.getByRole('tab', { name: 'carillon' }).click()
  await dialog.getByText(`carillon jobs trigger ${job_id}`).waitFor()
  await dialog.getByRole('button', { name: 'Run now' }).click()
  await page.waitForURL(/\/executions\/[0-9a-f-]{36}$/)
  await page.getByRole('heading', { level: 1 }).getByText('succeeded').waitFor()
  await page.getByRole('region', { name: 'Request' }).getByText('"hello": "world"').waitFor()
  await page.getByRole('region', { name: 'Response' }).getByText('200', { exact: true }).waitFor()
})

test('a job is paused with a reason, and resumed', async (t) => {
  const { job_id } = await server.api.makeJob({ name: 'Paused and resumed' })
  const page = await openPage(t, { server })
  await page.goto(`/jobs/${job_id}`)
  await page.getByRole('button', { name: 'Pause' }).click()
  await page.getByLabel('Reason (shown to your team)').fill('the tower is painted')
  await page.getByRole('button', { name: 'Pause job' }).click()
  await page.getByText('the tower is painted').first().waitFor()
  await page.getByRole('button', { name: 'Resume' }).click()
  await page.getByRole('button', { name: 'Resume job' }).click()
  await page.getByRole('button', { name: 'Pause' }).waitFor()
})

test('a job is edited, and the difference of its versions is shown', async (t) => {
  const { job_id } = await server.api.makeJob({ name: 'Edited', tags: ['old'] })
  const page = await openPage(t, { server })
  await page.goto(`/jobs/${job_id}/edit`)
  await page.getByRole('textbox', { name: 'Tags' }).fill('new')
  await page.getByRole('list', { name: 'Changes' }).getByText('tags').waitFor()
  await page.getByRole('button', { name: 'Save changes' }).click()
  await page.getByText('Edited is changed: version 2.').waitFor()
  await page.getByRole('tab', { name: 'Versions' }).click()
  const changes = page.getByRole('list', { name: 'From version 1 to 2' })
  await changes.locator('del').getByText('old').waitFor()
  await changes.locator('ins').getByText('new').waitFor()
  assert.equal(new URL(page.url()).searchParams.get('tab'), 'versions')
})

test('a job of the list is run with its own payload to begin with', async (t) => {
  await server.api.makeJob({ name: 'Has a payload' })
  const page = await openPage(t, { server })
  await page.goto('/jobs?q=Has+a+payload')
  await page.getByRole('button', { name: 'Actions for Has a payload' }).click()
  await page.getByRole('menuitem', { name: 'Run now …' }).click()
  const dialog = page.getByRole('dialog', { name: 'Run Has a payload now' })
  await dialog.getByRole('checkbox', { name: 'With another payload' }).check()
  assert.match(await dialog.getByLabel('Payload (JSON)').inputValue(), /"hello": "world"/)
})

test('a pruned version names the parts that are no longer kept, and shows no change of them', async (t) => {
  const execution = { callback_url: 'http://127.0.0.1:9/', payload: { secret: 'sales' } }
  const { job_id } = await server.api.makeJob({ name: 'Pruned', tags: ['old'], execution })
  const page = await openPage(t, { server })
  await page.goto(`/jobs/${job_id}/edit`)
  await page.getByRole('textbox', { name: 'Tags' }).fill('new')
  await page.getByRole('button', { name: 'Save changes' }).click()
  await page.getByText('Pruned is changed: version 2.').waitFor()
  // As the server answers some minutes later.
  await page.route('**/versions?*', async (route) => {
    const response = await route.fetch()
    const body = await response.json()
    const { pruned_at: _, job } = body.versions[1]
    const { payload: _payload, ...rest } = job.execution
    body.versions[1] = {
      ...body.versions[1],
      pruned_at: '2026-01-01T00:00:00Z',
      job: { ...job, execution: rest },
    }
    await route.fulfill({ response, json: body })
  })
  await page.getByRole('tab', { name: 'Versions' }).click()
  await page.getByText('The payload of version 1 is no longer kept').waitFor()
  const changes = page.getByRole('list', { name: 'From version 1 to 2' })
  await changes.locator('ins').getByText('new').waitFor()
  assert.equal(await changes.getByText('sales').count(), 0)
})
