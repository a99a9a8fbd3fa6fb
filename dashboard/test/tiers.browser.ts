// Tiers and usage under Settings: an operator changes limits, a tenant sees how much of its own it uses.
import assert from 'node:assert/strict'
import test from 'node:test'
import { Api } from './api.ts'
import { openPage } from './open-page.ts'
import { serverOf } from './servers.ts'

const server = serverOf('plain')

test('an operator makes a tier and lowers a limit of it, and the tenant beyond it sees that', async (t) => {
  const page = await openPage(t, { server })
  await page.goto('/settings?tab=tiers')
  await page.getByRole('button', { name: 'New tier' }).click()
  await page.getByLabel('Name').fill('bells')
  await page.getByLabel('Active jobs').fill('x')
  await page.getByText('A whole number from 1 to 1,000,000,000.').waitFor()
  assert(await page.getByRole('button', { name: 'Create tier' }).isDisabled())
  await page.getByLabel('Active jobs').fill('5')
  await page.getByRole('button', { name: 'Create tier' }).click()
  const row = page.getByRole('row').filter({ has: page.getByRole('cell', { name: 'bells', exact: true }) })
  await row.getByText('5 active jobs').waitFor()

  const tenant = await server.api.post<{ tenant_id: string }>('/tenants', { name: 'Ringers', tier: 'bells' })
  const theirs = new Api(server, tenant.tenant_id)
  for (let n = 0; n < 2; n++) await theirs.makeJob({ name: 'Peal' })
  const { key } = await theirs.post<{ key: string }>('/api-keys', { name: 'a person', scopes: ['read'] })
  await page.getByRole('button', { name: 'Change bells' }).click()
  await page.getByLabel('Active jobs').fill('1')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('heading', { name: 'Beyond the limits of bells' }).waitFor()
  await page.getByText('Active jobs: 2 of 1').waitFor()

  const small = await openPage(t, { server, key })
  await small.goto('/settings?tab=usage')
  await small.getByRole('heading', { name: 'Usage on the tier bells' }).waitFor()
  await small.getByRole('row', { name: 'Active jobs 2 1 200 % used with use' }).waitFor()
  assert.equal(await small.getByRole('tab', { name: 'Tiers' }).count(), 0)

  await page.goto('/settings?tab=usage')
  await page.getByRole('combobox', { name: 'Tenant' }).selectOption('Ringers')
  await page.getByRole('row', { name: 'Active jobs 2 1 200 % used with use' }).waitFor()
})
