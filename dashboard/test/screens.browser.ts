// Every screen of the demo world: readable by everybody (WCAG A and AA, dark and light), as wide as a phone and not
// wider, without an error on the console, and small on its way to the browser.
import assert from 'node:assert/strict'
import test from 'node:test'
import { AxeBuilder } from '@axe-core/playwright'
import type { Page } from 'playwright-core'
import { findDemoScreens, show } from './demo-screens.ts'
import { openPage, phone } from './open-page.ts'
import { serverOf } from './servers.ts'

const server = serverOf('demo')
const scriptBytesMax = 250_000

test('every screen passes WCAG A and AA, in light and in dark, without an error on the console', async (t) => {
  const page = await openPage(t, { server })
  const found: string[] = []
  for (const screen of await findDemoScreens(server)) {
    await show(page, screen.path)
    found.push(...(await violationsOf(page, screen.name)))
    // Only colours are different.
    await page.emulateMedia({ colorScheme: 'dark' })
    found.push(...(await violationsOf(page, `${screen.name} dark`, ['color-contrast', 'link-in-text-block'])))
    await page.emulateMedia({ colorScheme: 'light' })
  }
  assert.deepEqual(found, [])
})

test('the log-in, the palette, the keys, a menu and a question pass WCAG A and AA', async (t) => {
  const outside = await openPage(t, { server, key: null, expects: [/401 .*\/session/] })
  await outside.goto('/')
  await outside.getByLabel('API key').waitFor()
  const page = await openPage(t, { server })
  const found = await violationsOf(outside, 'log-in')
  await page.goto('/jobs')
  const more = page.getByRole('button', { name: /^Actions for/ }).first()
  await more.waitFor()
  await page.keyboard.press('Control+k')
  await page.getByRole('listbox').waitFor()
  found.push(...(await violationsOf(page, 'palette')))
  await page.keyboard.press('Escape')
  await page.getByRole('listbox').waitFor({ state: 'detached' })
  await page.keyboard.press('?')
  await page.getByRole('dialog', { name: 'Keys' }).waitFor()
  found.push(...(await violationsOf(page, 'keys')))
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await more.click()
  found.push(...(await violationsOf(page, 'menu')))
  await page.getByRole('menuitem', { name: 'Run now …' }).click()
  await page.getByRole('dialog').getByText('The same from a program').click()
  found.push(...(await violationsOf(page, 'question')))
  assert.deepEqual(found, [])
})

test('no screen scrolls sideways on a phone', async (t) => {
  const page = await openPage(t, { server, viewport: phone, isMobile: true, hasTouch: true })
  const tooWide: string[] = []
  for (const screen of await findDemoScreens(server)) {
    await show(page, screen.path)
    const { content, seen } = await page.evaluate(() => ({
      content: document.scrollingElement!.scrollWidth,
      seen: innerWidth,
    }))
    if (content > phone.width || seen > phone.width) tooWide.push(`${screen.name}: ${content} px`)
  }
  assert.deepEqual(tooWide, [])
})

test('on a phone a person runs a job, retries an execution and pauses a job', async (t) => {
  const { api } = serverOf('plain')
  const { job_id } = await api.makeJob({ name: 'On call' })
  const page = await openPage(t, {
    server: serverOf('plain'),
    viewport: phone,
    isMobile: true,
    hasTouch: true,
  })
  await page.goto('/')
  await page.getByRole('navigation', { name: 'Screens' }).getByRole('link', { name: 'Jobs' }).tap()
  await page.getByRole('link', { name: 'On call' }).tap()
  await page.waitForURL(`**/jobs/${job_id}`)
  await page.getByRole('button', { name: 'Run now' }).tap()
  await page.getByRole('dialog').getByRole('button', { name: 'Run now' }).tap()
  await page.getByRole('heading', { level: 1 }).getByText('succeeded').waitFor()
  const first = page.url()
  await page.getByRole('button', { name: 'Retry', exact: true }).tap()
  await page.getByRole('button', { name: 'Retry it' }).tap()
  await page.waitForURL((url) => url.href !== first)
  await page.getByRole('heading', { level: 1 }).getByText('succeeded').waitFor()
  await page.getByRole('link', { name: 'On call' }).tap()
  await page.getByRole('button', { name: 'Pause' }).tap()
  await page.getByRole('button', { name: 'Pause it' }).tap()
  await page.getByRole('button', { name: 'Resume' }).waitFor()
})

test('the first load brings less than 250 KB of script', async (t) => {
  const page = await openPage(t, { server })
  const scripts = new Map<string, number>()
  const session = await page.context().newCDPSession(page)
  const urls = new Map<string, string>()
  await session.send('Network.enable')
  session.on('Network.responseReceived', ({ requestId, response, type }) => {
    if (type === 'Script') urls.set(requestId, response.url)
  })
  session.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    const url = urls.get(requestId)
    if (url !== undefined) scripts.set(url, encodedDataLength)
  })
  await show(page, '/')
  await page.locator('.uplot').first().waitFor()
  const bytes = [...scripts.values()].reduce((sum, one) => sum + one, 0)
  t.diagnostic(`${scripts.size} scripts, ${Math.round(bytes / 1_000)} KB on the wire`)
  assert(scripts.size > 1 && bytes < scriptBytesMax, `${bytes} bytes`)
})

const standard = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']

async function violationsOf(page: Page, where: string, rules?: string[]): Promise<string[]> {
  const builder = new AxeBuilder({ page }).options({ resultTypes: ['violations'] })
  const { violations } = await (rules === undefined
    ? builder.withTags(standard)
    : builder.withRules(rules)
  ).analyze()
  return violations.map(({ id, nodes }) => `${where}: ${id}: ${nodes.map(({ html }) => html).join(' ')}`)
}
