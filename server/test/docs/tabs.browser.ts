// The language tabs of the docs in a real Chromium: a choice holds on every page, by mouse and by keyboard.
import assert from 'node:assert/strict'
import test from 'node:test'
import { serveDocs } from './docs-app.ts'
import { openDocs } from './open-docs.ts'

test('a language that is chosen once is shown by every example, on every page and after a reload', async (t) => {
  const { url } = await serveDocs(t)
  const page = await openDocs(t, { url })
  await page.goto('/docs/api-by-example')
  const lists = page.getByRole('tablist', { name: 'Language of the example' })
  assert((await lists.count()) >= 8)
  const second = lists.nth(1)
  assert.equal(await second.getByRole('tab', { name: 'curl' }).getAttribute('aria-selected'), 'true')
  assert(await page.getByText('JOB=$(curl').isVisible())
  await second.scrollIntoViewIfNeeded()
  const before = (await second.boundingBox())!.y
  await second.getByRole('tab', { name: 'Python' }).click()
  const after = (await second.boundingBox())!.y
  assert(Math.abs(after - before) < 2, `the tabs moved from ${before} to ${after}`)
  assert(await page.getByText('job = call("POST"').isVisible())
  assert(await page.getByText(`URL = "${url}/api/v1"`).first().isVisible(), 'the address of this server')
  assert.equal(await page.getByText('JOB=$(curl').isVisible(), false)
  await page.goto('/docs/api#post-api-v1-jobs')
  const reference = page.locator('#post-api-v1-jobs')
  assert(await reference.getByText('urllib.request.Request').isVisible())
  assert.match(await reference.getByRole('tabpanel').first().innerText(), /http:\/\/127\.0\.0\.1:\d+\/api/)
  await page.reload()
  assert(await reference.getByText('urllib.request.Request').isVisible())
})

test('the arrow keys go through the languages', async (t) => {
  const { url } = await serveDocs(t)
  const page = await openDocs(t, { url })
  await page.goto('/docs/api')
  const tabs = page.locator('#start').getByRole('tablist').first().getByRole('tab')
  await tabs.first().focus()
  for (const [key, title] of [
    ['ArrowRight', 'TypeScript'],
    ['End', 'Go'],
    ['ArrowRight', 'curl'],
    ['ArrowLeft', 'Go'],
    ['Home', 'curl'],
  ] as const) {
    await page.keyboard.press(key)
    const chosen = await page.locator(':focus').innerText()
    assert.equal(chosen, title, key)
    assert.equal(await page.locator(':focus').getAttribute('aria-selected'), 'true')
  }
})

test('without script every language can be read', async (t) => {
  const { url } = await serveDocs(t)
  const page = await openDocs(t, { url, javaScriptEnabled: false })
  await page.goto('/docs/api-by-example')
  assert(await page.getByText('JOB=$(curl').isVisible())
  assert(await page.getByText('job = call("POST"').isVisible())
  assert.equal(await page.getByRole('tab').count(), 0)
})
