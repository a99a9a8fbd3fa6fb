// Every daily action can be done without a mouse; and the choices of a person are kept.
import assert from 'node:assert/strict'
import test from 'node:test'
import type { Page } from 'playwright-core'
import { openPage } from './open-page.ts'
import { serverOf } from './servers.ts'

const server = serverOf('plain')

/** Presses Tab until something with this name has the focus. */
async function tabTo(page: Page, name: string): Promise<void> {
  const target = page.locator(':focus').and(page.getByRole('button', { name, exact: true }))
  for (let presses = 0; presses < 40; presses++) {
    if ((await target.count()) === 1) return
    await page.keyboard.press('Tab')
  }
  assert.fail(`Tab does not come to ${name}`)
}

test('a person logs in, goes to the jobs, opens one and runs it now by keys alone', async (t) => {
  await server.api.makeJob({ name: 'Keys only', tags: ['keyboard'] })
  const page = await openPage(t, { server, key: null, expects: [/401 .*\/session/] })
  await page.goto('/')
  await page.getByLabel('API key').waitFor()
  await page.keyboard.press('Tab')
  await page.keyboard.type(server.key)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { level: 1, name: 'Now' }).waitFor()

  await page.keyboard.press('g')
  await page.keyboard.press('j')
  await page.getByRole('heading', { level: 1, name: 'Jobs' }).waitFor()
  await page.keyboard.press('/')
  await page.keyboard.type('keyboard')
  await page.waitForURL(/q=keyboard/)
  await page.getByText('1 found').waitFor()
  await page.keyboard.press('Escape')
  await page.keyboard.press('j')
  await page
    .locator(':focus')
    .and(page.getByRole('link', { name: 'Keys only' }))
    .waitFor()
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { level: 1, name: 'Keys only' }).waitFor()
  await page.getByRole('button', { name: 'Run now' }).waitFor()
  await page.keyboard.press('t')
  await page.getByRole('dialog').waitFor()
  await tabTo(page, 'Run now')
  await page.keyboard.press('Enter')
  await page.waitForURL(/\/executions\//)
  await page.getByRole('heading', { level: 1 }).getByText('succeeded').waitFor()
})

test('the palette goes to a screen, a job and an id, and ? shows the keys of the screen', async (t) => {
  const { job_id } = await server.api.makeJob({ name: 'Found by the palette' })
  const executionId = await server.api.trigger(job_id)
  const page = await openPage(t, { server })
  await page.goto('/')
  const field = page.getByRole('combobox', { name: 'Screen, job or id' })
  const goTo = async (text: string, option: RegExp) => {
    await page.keyboard.press('Control+k')
    await field.waitFor()
    await page.keyboard.type(text)
    await page.getByRole('option', { name: option }).waitFor()
    while ((await page.getByRole('option', { name: option, selected: true }).count()) === 0)
      await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await field.waitFor({ state: 'detached' })
  }
  await page.getByRole('heading', { level: 1, name: 'Now' }).waitFor()
  await goTo('dead', /^Dead letters/)
  await page.getByRole('heading', { level: 1, name: 'Dead letters' }).waitFor()
  await goTo('by the pal', /^Found by the palette/)
  await page.getByRole('heading', { level: 1, name: 'Found by the palette' }).waitFor()
  await goTo(executionId, /^Execution /)
  await page.waitForURL(`**/executions/${executionId}`)
  await page.getByRole('region', { name: 'Log' }).waitFor()

  await page.keyboard.press('?')
  const sheet = page.getByRole('dialog', { name: 'Keys' })
  await sheet.getByText('Follow the log').waitFor()
  await page.keyboard.press('Escape')
  await sheet.waitFor({ state: 'detached' })
})

test('times are shown relative, local or in UTC, and the choice is kept', async (t) => {
  const { job_id } = await server.api.makeJob({ name: 'Told in time' })
  const executionId = await server.api.trigger(job_id)
  await server.api.untilStatus(executionId, 'SUCCEEDED')
  const { finished_at } = await server.api.get<{ finished_at: string }>(`/executions/${executionId}`)
  const utc = finished_at.slice(11, 19)
  const berlin = new Date(finished_at).toLocaleTimeString('en-GB', { timeZone: 'Europe/Berlin' })
  const page = await openPage(t, { server })
  await page.goto(`/executions/${executionId}`)
  const ended = page.getByRole('term').filter({ hasText: 'Ended' }).locator('xpath=..')
  await ended.getByText(/ago$|^now$/).waitFor()
  await page.getByRole('button', { name: 'UTC', exact: true }).click()
  await ended.getByText(`${utc}Z`).waitFor()
  await page.getByRole('button', { name: 'local', exact: true }).click()
  await ended.getByText(berlin, { exact: true }).waitFor()
  await page.reload()
  await ended.getByText(berlin, { exact: true }).waitFor()
})

test('dark and light follow the system, or the choice of the person', async (t) => {
  const page = await openPage(t, { server, colorScheme: 'dark' })
  await page.goto('/')
  await page.getByRole('heading', { level: 1, name: 'Now' }).waitFor()
  const brightness = () =>
    page.evaluate(() => {
      const [red = 0, green = 0, blue = 0] = (
        getComputedStyle(document.documentElement).backgroundColor.match(/[\d.]+/g) ?? []
      ).map(Number)
      return red + green + blue
    })
  assert((await brightness()) < 200)
  await page.getByRole('button', { name: 'light theme' }).click()
  assert((await brightness()) > 600)
  await page.reload()
  await page.getByRole('heading', { level: 1, name: 'Now' }).waitFor()
  assert((await brightness()) > 600)
})
