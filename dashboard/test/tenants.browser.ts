// Tenants under Settings: an operator deletes one, sees it among the deleted ones, restores it, and purges it.
import test from 'node:test'
import { Api, until } from './api.ts'
import { openPage } from './open-page.ts'
import { serverOf } from './servers.ts'

const server = serverOf('plain')

test('an operator deletes a tenant, restores it, deletes it again and purges it', async (t) => {
  const { tenant_id: id } = await server.api.post<{ tenant_id: string }>('/tenants', { name: 'Departing' })
  const theirs = new Api(server, id)
  await theirs.makeJob({ name: 'Farewell' })
  const page = await openPage(t, { server })
  await page.goto('/settings?tab=tenants')
  const remove = async () => {
    await page.getByRole('button', { name: 'Delete Departing' }).click()
    await page.getByRole('heading', { name: 'Delete the tenant Departing' }).waitFor()
    await page.getByRole('button', { name: 'Delete tenant', exact: true }).click()
    const row = page.getByRole('row').filter({ hasText: 'tenant delete completed: 1 of 1 jobs' })
    await row.waitFor()
  }
  await remove()
  await page.getByRole('button', { name: 'Restore Departing' }).click()
  await page.getByRole('button', { name: 'Restore tenant' }).click()
  await page.getByRole('button', { name: 'Restore Departing' }).waitFor({ state: 'detached' })
  const isActive = async () => (await theirs.get<{ jobs: object[] }>('/jobs?status=ACTIVE')).jobs.length === 1
  await until(isActive, 'the job is active again')
  await remove()
  await page.getByRole('button', { name: 'Purge Departing' }).click()
  await page.getByLabel('Type Departing to confirm').fill('Departing')
  await page.getByRole('button', { name: 'Delete everything' }).click()
  await page.getByText('purging').waitFor()
})
