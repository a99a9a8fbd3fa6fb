// Every screen of the demo world is as wide as a phone and not wider, and small on its way to the browser.
import assert from 'node:assert/strict'
import test from 'node:test'
import { findDemoScreens, show } from './demo-screens.ts'
import { openPage, phone } from './open-page.ts'
import { serverOf } from './servers.ts'

const server = serverOf('demo')
const scriptBytesMax = 250_000

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
  await page.getByRole('dialog').getByRole('button', { name: 'Retry', exact: true }).tap()
  await page.waitForURL((url) => url.href !== first)
  await page.getByRole('heading', { level: 1 }).getByText('succeeded').waitFor()
  await page.getByRole('link', { name: 'On call' }).tap()
  await page.getByRole('button', { name: 'Pause' }).tap()
  await page.getByRole('button', { name: 'Pause job' }).tap()
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
