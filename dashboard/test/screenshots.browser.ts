// The pictures of docs/images. They are made in every run, so that making them works; only `--screenshots` keeps them.
import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import test from 'node:test'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { findDemoScreens, show } from './demo-screens.ts'
import { openPage, phone, wide } from './open-page.ts'
import { serverOf } from './servers.ts'
import { shrinkPng } from './shrink-png.ts'

const server = serverOf('demo')
const dir = process.env['BROWSER_TEST_SCREENSHOTS']
const both = ['now', 'execution']
const variants: { suffix: string; only: readonly string[] | null; options: BrowserContextOptions }[] = [
  { suffix: '', only: null, options: { viewport: wide } },
  { suffix: '-dark', only: both, options: { viewport: wide, colorScheme: 'dark' } },
  { suffix: '-phone', only: both, options: { viewport: phone, isMobile: true, hasTouch: true } },
]

for (const { suffix, only, options } of variants) {
  test(`a picture of ${only === null ? 'every screen' : `${only.join(' and ')}${suffix}`}`, async (t) => {
    const screens = (await findDemoScreens(server)).filter(
      ({ name, isPart }) => isPart !== true && (only === null || only.includes(name)),
    )
    const page = await openPage(t, { server, colorScheme: 'light', ...options })
    for (const screen of screens) {
      await show(page, screen.path)
      const picture = await take(page)
      assert(picture.length > 5_000, screen.name)
      if (dir === undefined) {
        // One shows that pictures can be made; the others are for `--screenshots`.
        return
      }
      await mkdir(dir, { recursive: true })
      await writeFile(join(dir, `${screen.name}${suffix}.png`), picture)
    }
  })
}

test('a picture of the log-in', async (t) => {
  const page = await openPage(t, { server, key: null, expects: [/401 .*\/session/] })
  await page.goto('/')
  await page.getByLabel('API key').waitFor()
  const picture = await take(page)
  assert(picture.length > 5_000)
  if (dir !== undefined) await writeFile(join(dir, 'login.png'), picture)
})

async function take(page: Page): Promise<Buffer> {
  return shrinkPng(await page.screenshot({ animations: 'disabled' }))
}
