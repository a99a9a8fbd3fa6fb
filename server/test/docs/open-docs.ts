// A page of the docs in a real Chromium. An error on the console, or something that the content security policy refused,
// fails the test.
import assert from 'node:assert/strict'
import { after, type TestContext } from 'node:test'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'

let browser: Promise<Browser> | null = null
after(async () => (await browser)?.close())

export const wide = { width: 1440, height: 900 }
export const phone = { width: 375, height: 740 }

/** `npm run test:browser` says where the program is. */
const executablePath = process.env['BROWSER_TEST_CHROMIUM']

export async function openDocs(
  t: TestContext,
  { url, ...options }: BrowserContextOptions & { url: string },
): Promise<Page> {
  browser ??= chromium.launch({
    ...(executablePath !== undefined && { executablePath }),
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
  const context = await (await browser).newContext({ viewport: wide, baseURL: url, ...options })
  // The machine of CI is slow and shared; nothing here measures time.
  context.setDefaultTimeout(60_000)
  const page = await context.newPage()
  const complaints: string[] = []
  // Chromium reports a refusal by the content security policy there too.
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(`console: ${message.text()}`)
  })
  page.on('pageerror', (error) => complaints.push(`script: ${error.message}`))
  t.after(async () => {
    await context.close()
    assert.deepEqual(complaints, [])
  })
  return page
}
