// Every screen of the demo world is readable by everybody: WCAG A and AA, dark and light, without an error on the
// console.
import assert from 'node:assert/strict'
import test from 'node:test'
import { AxeBuilder } from '@axe-core/playwright'
import type { Page } from 'playwright-core'
import { findDemoScreens, show } from './demo-screens.ts'
import { openPage } from './open-page.ts'
import { serverOf } from './servers.ts'

const server = serverOf('demo')

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
  await page.getByRole('dialog').getByText('API & CLI equivalent').click()
  found.push(...(await violationsOf(page, 'question')))
  assert.deepEqual(found, [])
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
