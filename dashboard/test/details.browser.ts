// Details of lists and pages that were wrong once: order, counts, widths, targets for fingers.
import assert from 'node:assert/strict'
import test from 'node:test'
import type { Page } from 'playwright-core'
import { until } from './api.ts'
import { openPage, untilShown } from './open-page.ts'
import { serverOf } from './servers.ts'

const server = serverOf('plain')
const small = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }

test('the latest slot of a job comes first, and the next slot of the future', async (t) => {
  const { job_id } = await server.api.makeJob({ name: 'Two slots', schedule: 'every 2 seconds' })
  const ended = async () =>
    (await server.api.get<{ executions: object[] }>(`/jobs/${job_id}/executions?status=SUCCEEDED`)).executions
  await until(async () => (await ended()).length >= 2, 'two slots ran')
  const page = await openPage(t, { server })
  const rows = page.getByRole('table', { name: 'Slots' }).getByRole('row')
  const shownAt = (nth: number) => rows.nth(nth).getByRole('time').getAttribute('datetime')
  await page.goto(`/jobs/${job_id}?tab=slots&slots=1h`)
  await rows.nth(2).waitFor()
  const [first, second] = [await shownAt(1), await shownAt(2)]
  assert(first! > second!, `${first} before ${second}`)
  await page.goto(`/jobs/${job_id}?tab=slots&slots=next`)
  await rows.nth(2).waitFor()
  const [next, later] = [await shownAt(1), await shownAt(2)]
  assert(next! < later!, `${next} before ${later}`)
  await server.api.delete(`/jobs/${job_id}`)
})

test('a redrive whose executions fail again does not end as a success', async (t) => {
  const name = 'Fails every time'
  const { job_id } = await server.api.makeFailingJob({ name })
  const ids = [await server.api.trigger(job_id), await server.api.trigger(job_id)]
  for (const id of ids) await server.api.untilStatus(id, 'FAILED')
  const page = await openPage(t, { server })
  await page.goto(`/dead-letters?job_id=${job_id}`)
  await page.getByRole('table', { name: 'Dead letters' }).getByRole('row').nth(2).waitFor()
  await page
    .getByRole('button', { name: /^Redrive (all|2)/ })
    .first()
    .click()
  await page.getByRole('dialog').getByRole('button', { name: 'Redrive 2', exact: true }).click()
  const line = page.getByRole('region', { name: 'Operation: redrive' })
  await line.getByText('0 succeeded, 2 failed again').waitFor()
  await line.getByText('2 of 2 sent again').waitFor()
  await line.getByRole('link', { name: 'View them' }).click()
  await page.waitForURL(/\/executions\?kind=redrive&job_id=/)
})

test('a paused job is offered its resume, and no second pause', async (t) => {
  const name = 'Paused in the menu'
  const { job_id } = await server.api.makeJob({ name })
  await server.api.patch(`/jobs/${job_id}/pause`)
  const page = await openPage(t, { server })
  await page.goto('/jobs?status=PAUSED')
  await page.getByRole('button', { name: `Actions for ${name}` }).click()
  await page.getByRole('menuitem', { name: 'Resume …' }).waitFor()
  assert.equal(await page.getByRole('menuitem', { name: 'Pause …' }).count(), 0)
})

test('a long key does not make the page of a job wider than a phone', async (t) => {
  const { job_id } = await server.api.makeJob({ name: 'Long key', key: 'k'.repeat(100) })
  const page = await openPage(t, { server, ...small })
  await page.goto(`/jobs/${job_id}`)
  await page.getByRole('heading', { level: 1, name: 'Long key' }).waitFor()
  const width = await page.evaluate(() => document.documentElement.scrollWidth)
  assert.equal(width, 390)
})

test('the next runs of a job in UTC do not explain clock changes', async (t) => {
  const { api } = server
  const daily = (timezone: string) => ({ type: 'CRON', cron_expression: '30 2 * * *', timezone })
  const utc = await api.makeJob({ name: 'At half past two', schedule: daily('UTC') })
  const berlin = await api.makeJob({ name: 'In Berlin', schedule: daily('Europe/Berlin') })
  const page = await openPage(t, { server })
  const runs = page.getByRole('region', { name: 'Next runs' })
  await page.goto(`/jobs/${utc.job_id}`)
  await runs.getByText('Times in UTC.').waitFor()
  assert.doesNotMatch(await runs.innerText(), /clock change/)
  await page.goto(`/jobs/${berlin.job_id}`)
  await runs.getByText(/^Times in Europe\/Berlin\. .*clock change/).waitFor()
})

test('a click anywhere in a row opens it', async (t) => {
  const { job_id } = await server.api.makeJob({ name: 'Opened by its row', tags: ['row'] })
  const page = await openPage(t, { server })
  await page.goto('/jobs?tag=row')
  const row = page.getByRole('row').filter({ hasText: 'Opened by its row' })
  await row.getByText('no result yet').click()
  await page.waitForURL(`**/jobs/${job_id}`)
})

test('no number of the day view is cut off by its cell', async (t) => {
  for (const width of [1100, 1280, 1440]) {
    const page = await openPage(t, { server: serverOf('demo'), viewport: { width, height: 900 } })
    await page.goto('/calendar?view=day')
    await page.getByRole('grid').locator('.is-past').first().waitFor()
    const cut = await page.evaluate(() =>
      [...document.querySelectorAll<HTMLElement>('.calendar-cell')]
        .filter(
          ({ scrollWidth, clientWidth, scrollHeight, clientHeight }) =>
            scrollWidth > clientWidth || scrollHeight > clientHeight,
        )
        .map((cell) => cell.title),
    )
    assert.deepEqual(cut, [], `${width} px`)
  }
})

test('the labels of a chart are as wide as they need', async (t) => {
  const { api } = serverOf('demo')
  const { jobs } = await api.get<{ jobs: { job_id: string }[] }>('/jobs?q=Daily sales report')
  const page = await openPage(t, { server: serverOf('demo') })
  // Labels of the left axis are written on a canvas, which nothing else can be asked about.
  await page.addInitScript(() => {
    const { fillText } = CanvasRenderingContext2D.prototype
    const cut: string[] = []
    Object.assign(window, { cutLabels: cut })
    CanvasRenderingContext2D.prototype.fillText = function (text, x, y, ...rest) {
      const { e, f: _ } = this.getTransform()
      if (this.textAlign === 'right' && x + e - this.measureText(text).width < 0) cut.push(text)
      fillText.call(this, text, x, y, ...rest)
    }
  })
  await page.goto(`/jobs/${jobs[0]!.job_id}`)
  await page.getByRole('region', { name: 'Duration by hour, last 7 days' }).locator('canvas').waitFor()
  await page.waitForFunction(() => document.querySelector('.u-legend') !== null)
  assert.deepEqual(await page.evaluate(() => (window as unknown as { cutLabels: string[] }).cutLabels), [])
})

test('targets for fingers are at least 44 px high', async (t) => {
  const { job_id } = await server.api.makeFailingJob({ name: 'Touched', tags: ['touched'] })
  const id = await server.api.trigger(job_id)
  await server.api.untilStatus(id, 'FAILED')
  const page = await openPage(t, { server, ...small })
  const paths = [
    '/',
    '/jobs',
    `/jobs/${job_id}`,
    '/executions',
    `/executions/${id}`,
    '/dead-letters',
    '/calendar',
    '/settings',
    '/jobs/new',
    '/sla',
    '/workers',
    '/graphs',
  ]
  for (const path of paths) {
    await page.goto(path)
    await untilShown(page)
    assert.deepEqual(await smallTargets(page), [], path)
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390, path)
  }
})

/** Buttons, fields, rows and links of navigation; a link within a text may be as high as its line. */
function smallTargets(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const targets = document.querySelectorAll<HTMLElement>(
      'button, select, summary, nav a, input:not([type=checkbox], [type=radio]), label:has(> input), .table-body [role=row]',
    )
    return [...targets]
      .filter((target) => target.checkVisibility({ visibilityProperty: true }))
      .filter((target) => target.closest('.unseen, .skip-link') === null)
      .map((target) => ({ target, height: target.getBoundingClientRect().height }))
      .filter(({ height }) => height > 0 && height < 43.5)
      .map(({ target, height }) => `${target.outerHTML.slice(0, 90)} ${height}`)
  })
}
