// Every screen of the dashboard, with something to see of the demo world.
import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { until } from './api.ts'
import { untilShown } from './open-page.ts'
import type { RunningServer } from './servers.ts'

export interface DemoScreen {
  /** Of its picture in docs/images. */
  name: string
  path: string
  /** Looked at, and not kept as a picture. */
  isPart?: boolean
}

interface Found {
  execution_id: string
  job_id: string
}

export async function findDemoScreens({ api }: RunningServer): Promise<DemoScreen[]> {
  const jobOf = async (name: string) => {
    const { jobs } = await api.get<{ jobs: { job_id: string }[] }>(`/jobs?q=${encodeURIComponent(name)}`)
    assert(jobs[0] !== undefined, name)
    return jobs[0].job_id
  }
  const flaky = await jobOf('Sync the inventory')
  const long = await jobOf('Rebuild the search index')
  const lastOf = async (query: string) => {
    let found: Found | undefined
    await until(async () => {
      found = (await api.get<{ executions: Found[] }>(`/executions?limit=1&${query}`)).executions[0]
      return found !== undefined
    }, query)
    return found!.execution_id
  }
  const failed = await lastOf(`status=FAILED&job_id=${flaky}`)
  const running = await lastOf(`job_id=${long}`)
  let run: string | undefined
  await until(async () => {
    type Runs = { graph_runs: { graph_run_id: string }[] }
    run = (await api.get<Runs>('/graph-runs?status=FAILED&limit=1')).graph_runs[0]?.graph_run_id
    return run !== undefined
  }, 'a graph run has failed')
  const { dead_letters: letters } = await api.get<{ dead_letters: Found[] }>('/dead-letters?limit=1')
  return [
    { name: 'now', path: '/' },
    { name: 'executions', path: '/executions' },
    { name: 'execution', path: `/executions/${failed}` },
    { name: 'execution-running', isPart: true, path: `/executions/${running}` },
    { name: 'jobs', path: '/jobs' },
    { name: 'job', path: `/jobs/${flaky}` },
    { name: 'job-slots', isPart: true, path: `/jobs/${flaky}?tab=slots` },
    { name: 'job-versions', isPart: true, path: `/jobs/${flaky}?tab=versions` },
    { name: 'job-settings', isPart: true, path: `/jobs/${flaky}?tab=settings` },
    { name: 'job-new', path: '/jobs/new' },
    { name: 'job-edit', path: `/jobs/${flaky}/edit` },
    { name: 'calendar', path: '/calendar' },
    { name: 'calendar-month', isPart: true, path: '/calendar?view=month' },
    { name: 'graphs', path: '/graphs' },
    { name: 'graph', path: `/graphs/${run}` },
    { name: 'graph-table', isPart: true, path: `/graphs/${run}?view=table` },
    { name: 'dead-letters', path: '/dead-letters' },
    { name: 'dead-letter', path: `/dead-letters?letter=${letters[0]!.execution_id}` },
    { name: 'sla', path: '/sla' },
    { name: 'workers', path: '/workers' },
    { name: 'settings', path: '/settings' },
    { name: 'settings-tiers', isPart: true, path: '/settings?tab=tiers' },
    { name: 'settings-usage', isPart: true, path: '/settings?tab=usage' },
    { name: 'settings-session', isPart: true, path: '/settings?tab=browser' },
  ]
}

export async function show(page: Page, path: string): Promise<void> {
  await page.goto(path)
  await untilShown(page)
  await page.getByText(/^Live · /).waitFor()
  // A chart is drawn after its data has arrived.
  await page.locator('figure.chart:not(:has(canvas))').first().waitFor({ state: 'detached' })
}
