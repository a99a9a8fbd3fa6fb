// The docs in a real Chromium: the search box by keyboard and on a phone, and nothing that a screen reader stumbles over.
import assert from 'node:assert/strict'
import test from 'node:test'
import { AxeBuilder } from '@axe-core/playwright'
import type { Page } from 'playwright-core'
import { serveDocs } from './docs-app.ts'
import { openDocs, phone, wide } from './open-docs.ts'

const standard = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

/** `parts`: axe takes minutes for all of a long page on a busy machine. */
async function violationsOf(page: Page, where: string, parts: readonly string[]): Promise<string[]> {
  const builder = parts.reduce((one, part) => one.include(part), new AxeBuilder({ page }).withTags(standard))
  const { violations } = await builder.analyze()
  return violations.flatMap(({ id, nodes }) => nodes.map((node) => `${where}: ${id} ${node.target}`))
}

test('slash leads to the search, the arrows to a result, Enter opens it, and Escape leaves', async (t) => {
  const { url } = await serveDocs(t)
  const page = await openDocs(t, { url })
  for (const start of ['/docs/quickstart', '/docs/api']) {
    await page.goto(start)
    const box = page.getByRole('combobox', { name: 'Search the docs' })
    await page.keyboard.press('/')
    await page.keyboard.type('verify the signature')
    const options = page.getByRole('option')
    await options.first().waitFor()
    assert.match(await page.getByRole('status').innerText(), /^\d+ results?$/)
    assert.match(await options.first().innerText(), /Verify the signature/)
    assert((await options.first().locator('mark').count()) > 0, 'the words are marked in the line')
    await page.keyboard.press('ArrowDown')
    assert.equal(await options.first().getAttribute('aria-selected'), 'true')
    assert.equal(await box.getAttribute('aria-activedescendant'), await options.first().getAttribute('id'))
    await page.keyboard.press('ArrowUp')
    assert.equal(await options.last().getAttribute('aria-selected'), 'true')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await page.waitForURL('**/docs/receivers#verify-the-signature')
    await page.keyboard.press('/')
    await page.keyboard.type('zzyzx')
    await page.getByText('Nothing found for “zzyzx”.').waitFor()
    await page.keyboard.press('Escape')
    assert.equal(await box.inputValue(), '')
    assert.equal(await box.getAttribute('aria-expanded'), 'false')
  }
})

test('a slash in the filter of the reference stays a slash', async (t) => {
  const { url } = await serveDocs(t)
  const page = await openDocs(t, { url })
  await page.goto('/docs/api')
  const filter = page.getByLabel('Filter')
  await filter.click()
  await page.keyboard.type('/workers/claim')
  assert.equal(await filter.inputValue(), '/workers/claim')
})

const looks = [
  { path: '/docs/quickstart', colorScheme: 'light', viewport: wide, parts: ['body'] },
  { path: '/docs/quickstart', colorScheme: 'dark', viewport: phone, parts: ['header', 'h1'] },
  { path: '/docs/api-by-example', colorScheme: 'dark', viewport: wide, parts: ['.tabs', '.table'] },
] as const

test('pages, tabs and the open search pass WCAG, light and dark, wide and on a phone, without sideways scroll', async (t) => {
  const { url } = await serveDocs(t)
  const found: string[] = []
  for (const { path, colorScheme, viewport, parts } of looks) {
    const page = await openDocs(t, { url, viewport, colorScheme })
    await page.goto(path)
    await page.getByRole('combobox', { name: 'Search the docs' }).fill('retry a job')
    await page.getByRole('option').first().waitFor()
    await page.keyboard.press('ArrowDown')
    const where = `${path} ${colorScheme} ${viewport.width}`
    found.push(...(await violationsOf(page, where, parts)))
    const width = await page.evaluate('document.documentElement.scrollWidth')
    if (Number(width) > viewport.width) found.push(`${where}: ${width} px wide`)
    // Pages that stay open cost the next one time.
    await page.close()
  }
  assert.deepEqual(found, [])
})

test('a page can be read without script', async (t) => {
  const { url } = await serveDocs(t)
  const page = await openDocs(t, { url, javaScriptEnabled: false })
  await page.goto('/docs/quickstart')
  assert(await page.getByRole('heading', { level: 1 }).isVisible())
  assert(await page.getByRole('navigation', { name: 'Contents' }).isVisible())
  assert.equal(await page.locator('#search').isVisible(), false, 'a box that cannot search')
})
