// Access to the dashboard: by key, by the one-time link, and the tenants that an operator sees.
import assert from 'node:assert/strict'
import test from 'node:test'
import { Api } from './api.ts'
import { openPage } from './open-page.ts'
import { serverOf } from './servers.ts'

const server = serverOf('plain')
/** Before the log-in the page asks for its session and gets none. */
const asksWho = /401 \(Unauthorized\).*\/session/

test('a person logs in with a key, stays where he wanted to go, and logs out', async (t) => {
  const page = await openPage(t, { server, key: null, expects: [asksWho] })
  await page.goto('/jobs?status=PAUSED')
  await page.getByLabel('API key').fill(server.key)
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.getByRole('heading', { level: 1, name: 'Jobs' }).waitFor()
  assert.equal(new URL(page.url()).search, '?status=PAUSED')

  const kept = await page.evaluate(() =>
    JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href]),
  )
  assert(!kept.includes(server.key), 'no script can read the key')

  await page.reload()
  await page.getByRole('heading', { level: 1, name: 'Jobs' }).waitFor()
  await page.getByRole('button', { name: 'Log out' }).click()
  await page.getByLabel('API key').waitFor()
  await page.reload()
  await page.getByLabel('API key').waitFor()
})

test('a wrong key is refused with a reason, and the right one is taken after it', async (t) => {
  const page = await openPage(t, { server, key: null, expects: [asksWho] })
  await page.goto('/')
  await page.getByLabel('API key').fill('crl_this_is_not_a_key_of_anybody')
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.getByRole('alert').getByText(/key/i).first().waitFor()
  await page.getByLabel('API key').fill(server.key)
  await page.getByLabel('API key').press('Enter')
  await page.getByRole('heading', { level: 1, name: 'Now' }).waitFor()
})

test('the link that the start prints logs in once', async (t) => {
  const page = await openPage(t, { server, key: null })
  await page.goto(server.link)
  await page.getByRole('heading', { level: 1, name: 'Now' }).waitFor()
  assert.equal(new URL(page.url()).hash, '', 'the code is gone from the address')

  const other = await openPage(t, { server, key: null, expects: [asksWho] })
  await other.goto(server.link)
  await other.getByLabel('API key').waitFor()
  await other.getByText(/^This link has been used or has expired/).waitFor()
  await other.getByText('carillon login-link').waitFor()
})

test('a session that was lost is said to have ended', async (t) => {
  const page = await openPage(t, { server, expects: [/401 \(Unauthorized\)/] })
  await page.goto('/jobs')
  await page.getByRole('heading', { level: 1, name: 'Jobs' }).waitFor()
  await page.context().clearCookies()
  await page.getByRole('link', { name: 'Executions' }).click()
  await page.getByText('Your session has ended. Log in again.').waitFor()
  await page.getByLabel('API key').fill(server.key)
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.getByRole('heading', { level: 1, name: 'Executions' }).waitFor()
})

test('an operator looks at another tenant, and a key of that tenant sees nothing else', async (t) => {
  const name = 'Bell founders'
  const { tenant_id } = await server.api.post<{ tenant_id: string }>('/tenants', { name })
  const { key } = await new Api(server, tenant_id).post<{ key: string }>('/api-keys', {
    name: 'a person',
    scopes: ['read', 'write', 'operate'],
  })
  await server.api.makeJob({ name: 'Job of the first tenant' })

  const page = await openPage(t, { server })
  await page.goto('/jobs')
  await page.getByRole('link', { name: 'Job of the first tenant' }).waitFor()
  await page.getByRole('combobox', { name: 'Tenant' }).selectOption(name)
  await page.getByText('There is no job yet.').waitFor()
  await page.reload()
  await page.getByText('There is no job yet.').waitFor()

  const theirs = await openPage(t, { server, key })
  await theirs.goto('/jobs')
  await theirs.getByText('There is no job yet.').waitFor()
  await theirs.getByText(name).first().waitFor()
  assert.equal(await theirs.getByRole('combobox', { name: 'Tenant' }).count(), 0)
})

test('a session that was lost while nobody looked is said to have ended', async (t) => {
  const page = await openPage(t, { server, expects: [/401 \(Unauthorized\)/] })
  await page.goto('/jobs')
  await page.getByRole('heading', { level: 1, name: 'Jobs' }).waitFor()
  await page.context().clearCookies()
  await page.reload()
  await page.getByText('Your session has ended. Log in again.').waitFor()
  await page.getByLabel('API key').fill('crl_wrong')
  await page.getByRole('button', { name: 'Log in' }).click()
  const alert = page.getByRole('alert')
  await alert.getByText('This does not look like a complete API key.').waitFor()
  assert.doesNotMatch(await alert.innerText(), /Bearer|`/)
})
