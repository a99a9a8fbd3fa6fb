// A page of a real Chromium, logged in or not, that is looked after: a script error, an error on the console, a dialog of
// the browser or something that the content security policy refused fails the test.
import assert from 'node:assert/strict'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, type TestContext } from 'node:test'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import type { RunningServer } from './servers.ts'

let browser: Promise<Browser> | null = null
after(async () => (await browser)?.close())

export const wide = { width: 1440, height: 900 }
export const phone = { width: 375, height: 740 }

export interface PageOptions extends BrowserContextOptions {
  server: Pick<RunningServer, 'url' | 'key'>
  /** Null: nobody. Default: the operator. */
  key?: string | null
  /** Errors on the console that belong to the journey, such as that of a request that is refused. */
  expects?: readonly RegExp[]
}

export async function openPage(t: TestContext, options: PageOptions): Promise<Page> {
  const { server, key = server.key, expects = [], ...rest } = options
  browser ??= launch()
  const context = await (await browser).newContext({
    viewport: wide,
    baseURL: server.url,
    locale: 'en-GB',
    timezoneId: 'Europe/Berlin',
    ...rest,
  })
  // The machine of CI is slow and shared; nothing here measures time.
  context.setDefaultTimeout(60_000)
  if (key !== null) {
    const reply = await context.request.post('/api/v1/session', { data: { key } })
    assert.equal(reply.status(), 200, await reply.text())
  }
  const page = await context.newPage()
  const complaints: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(`console: ${message.text()} ${message.location().url}`)
  })
  page.on('pageerror', (error) => complaints.push(`script: ${error.stack ?? error.message}`))
  page.on('dialog', (dialog) => {
    complaints.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  await page.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', (event) =>
      console.error(`refused by the content security policy: ${event.violatedDirective} ${event.blockedURI}`),
    )
  })
  t.after(async () => {
    if (!t.passed) await keepPicture(t, page)
    await context.close()
    const unexpected = complaints.filter((text) => !expects.some((pattern) => pattern.test(text)))
    assert.deepEqual(unexpected, [], 'what the browser complained about')
  })
  return page
}

/** Keeps a screenshot of the page at the moment the test failed. */
async function keepPicture(t: TestContext, page: Page): Promise<void> {
  const path = join(tmpdir(), `carillon-${t.name.replaceAll(/\W+/g, '-').slice(0, 60)}.png`)
  await page.screenshot({ path }).then(
    () => t.diagnostic(`seen at the failure: ${path}`),
    () => undefined,
  )
}

/** Everything that the screen asked for first is there. */
export async function untilShown(page: Page): Promise<void> {
  await page.getByRole('heading', { level: 1 }).waitFor()
  await page.locator('main .loading').first().waitFor({ state: 'detached' })
}

function launch(): Promise<Browser> {
  return chromium.launch({
    executablePath: process.env['BROWSER_TEST_CHROMIUM']!,
    // Chromium's own sandbox does not work for root, which CI often is.
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-dev-shm-usage',
      '--disable-background-networking',
      '--disable-component-update',
      '--no-first-run',
    ],
  })
}
