// The tenant is in the address: a link opens for another operator as it did for its sender.
import assert from 'node:assert/strict'
import test from 'node:test'
import { Api } from './api.ts'
import { openPage } from './open-page.ts'
import { serverOf } from './servers.ts'

const server = serverOf('plain')

async function makeTenant(name: string) {
  const { tenant_id } = await server.api.post<{ tenant_id: string }>('/tenants', { name })
  return { tenantId: tenant_id, api: new Api(server, tenant_id) }
}

test('links of an operator carry the tenant, and open for another operator as they were', async (t) => {
  const { tenantId, api } = await makeTenant('Northwind')
  const { job_id } = await api.makeJob({ name: 'Ring in the north' })
  const executionId = await api.trigger(job_id)
  const page = await openPage(t, { server })
  await page.goto('/jobs')
  await page.getByRole('combobox', { name: 'Tenant' }).selectOption('Northwind')
  await page.getByRole('link', { name: 'Ring in the north' }).click()
  await page.getByRole('heading', { level: 1, name: 'Ring in the north' }).waitFor()
  assert.equal(new URL(page.url()).searchParams.get('tenant'), tenantId)
  const link = page.url()
  // Every way through the page keeps it.
  await page.getByRole('link', { name: 'Executions' }).first().click()
  await page.getByRole('link', { name: 'Ring in the north' }).first().click()
  await page.waitForURL(`**/executions/${executionId}?tenant=${tenantId}`)

  const other = await openPage(t, { server })
  await other.goto(link)
  await other.getByRole('heading', { level: 1, name: 'Ring in the north' }).waitFor()
  await other.reload()
  await other.getByRole('heading', { level: 1, name: 'Ring in the north' }).waitFor()
  await other.getByRole('combobox', { name: 'Tenant' }).selectOption('default')
  await other.getByRole('heading', { level: 1, name: 'Jobs' }).waitFor()
  assert.equal(new URL(other.url()).search, '')
  // Back is the other tenant again.
  await other.goBack()
  await other.getByRole('heading', { level: 1, name: 'Ring in the north' }).waitFor()
})

test('a link without its tenant tells an operator which tenant the job belongs to', async (t) => {
  const { tenantId, api } = await makeTenant('Southwind')
  const { job_id } = await api.makeJob({ name: 'Ring in the south' })
  const page = await openPage(t, { server, expects: [/404 .*\/jobs\//] })
  await page.goto(`/jobs/${job_id}`)
  await page.getByText('This job belongs to Southwind.').waitFor()
  await page.getByRole('button', { name: 'Switch to Southwind' }).click()
  await page.getByRole('heading', { level: 1, name: 'Ring in the south' }).waitFor()
  assert.equal(new URL(page.url()).searchParams.get('tenant'), tenantId)
})

test('the address of a person of a tenant names it, and a link of another tenant is told apart', async (t) => {
  const { tenantId, api } = await makeTenant('Westwind')
  const { key } = await api.post<{ key: string }>('/api-keys', { name: 'a person', scopes: ['read'] })
  const page = await openPage(t, { server, key })
  await page.goto('/jobs')
  await page.waitForURL(`**/jobs?tenant=${tenantId}`)
  await page.goto('/jobs?tenant=00000000-0000-7000-8000-000000000001')
  await page.getByText('The link is of another tenant. You are logged in to Westwind.').waitFor()
  await page.waitForURL(`**/jobs?tenant=${tenantId}`)
})

test('the sample for an empty tenant makes the job in that tenant', async (t) => {
  const { tenantId } = await makeTenant('Empty and calm')
  const page = await openPage(t, { server })
  for (const path of ['/', '/jobs', '/executions', '/dead-letters', '/graphs']) {
    await page.goto(`${path}?tenant=${tenantId}`)
    await page.getByText(`X-Tenant-ID: ${tenantId}`).first().waitFor()
  }
})
