// One clock: a sentence of the server, a log and a chart show an instant with the same digits, and name the zone.
import assert from 'node:assert/strict'
import test from 'node:test'
import { openPage } from './open-page.ts'
import { serverOf } from './servers.ts'

const server = serverOf('plain')
const isoInstant = /\d{4}-\d\d-\d\dT\d\d:\d\d/

test('sentences about a job name instants on the chosen clock, with its zone, and never as on the wire', async (t) => {
  const next = new Date(Date.now() + 60 * 86_400_000).toISOString().slice(0, 10)
  const at = `${next}T10:30:00Z`
  const { job_id } = await server.api.makeJob({
    name: 'Told on one clock',
    schedule: { type: 'ONE_TIME', scheduled_time: at },
  })
  const berlin = new Date(at).toLocaleTimeString('en-GB', { timeZone: 'Europe/Berlin' })
  const page = await openPage(t, { server })
  await page.goto(`/jobs/${job_id}`)
  const told = page.getByText(/^Not due until /)
  await told.getByText(new RegExp(`\\d\\d-\\d\\d ${berlin} CES?T$`)).waitFor()
  const main = page.getByRole('main')
  assert.match(await main.innerText(), new RegExp(`once, at (\\d{4}-)?\\d\\d-\\d\\d ${berlin} CES?T`))
  assert.doesNotMatch(await main.innerText(), isoInstant)

  await page.getByRole('button', { name: 'UTC', exact: true }).click()
  await told.getByText(/\d\d-\d\d 10:30:00 UTC$/).waitFor()

  await page.getByRole('tab', { name: 'Slots' }).click()
  await page.getByLabel('Slots in the').selectOption({ label: 'last 24 hours' })
  assert.doesNotMatch(await main.innerText(), isoInstant)
})

test('the question why, and its answer, are on the chosen clock', async (t) => {
  const { job_id } = await server.api.makeJob({ name: 'Asked why', schedule: '0 0 * * *' })
  const page = await openPage(t, { server })
  await page.goto(`/jobs/${job_id}?tab=slots&slots=next`)
  await page
    .getByRole('button', { name: /^Why, at/ })
    .first()
    .click()
  const dialog = page.getByRole('dialog', {
    name: /^Why, at (\d\d-\d\d |\d{4}-\d\d-\d\d )?\d\d:00:00 CES?T$/,
  })
  await dialog.getByText(/Not due until .*\d\d:00:00 CES?T\./).waitFor()
  assert.doesNotMatch(await dialog.innerText(), isoInstant)
})

test('the log stands on the clock of the page and says which, as a chart does', async (t) => {
  const { job_id } = await server.api.makeJob({
    name: 'Logged on one clock',
    execution: { type: 'worker', handler: 'repeat-text', payload: { text: 'the bell rang' } },
  })
  const executionId = await server.api.trigger(job_id)
  await server.api.untilStatus(executionId, 'SUCCEEDED')
  const { logs } = await server.api.get<{ logs: { at: string }[] }>(`/executions/${executionId}/logs`)
  const at = new Date(logs[0]!.at)
  const berlin = at.toLocaleTimeString('en-GB', { timeZone: 'Europe/Berlin' })

  const page = await openPage(t, { server })
  await page.goto(`/executions/${executionId}`)
  const log = page.getByRole('region', { name: 'Log' })
  // "ago" is chosen, and means the local clock.
  await log
    .getByText(/Times in CES?T$/)
    .first()
    .waitFor()
  await log.getByText(berlin).waitFor()
  await page.getByRole('button', { name: 'UTC', exact: true }).click()
  await log
    .getByText(/Times in UTC$/)
    .first()
    .waitFor()
  await log.getByText(at.toISOString().slice(11, 19)).waitFor()

  await page.goto('/sla')
  await page.getByText('Times in UTC').first().waitFor()
})
