// The real API app on the memory store, listening on loopback: for readers of the docs, which are programs and a browser.
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { operatorKey, setupApp } from '../app.ts'

export async function serveDocs(t: TestContext) {
  const setup = await setupApp(t)
  await setup.app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = setup.app.server.address() as AddressInfo
  return { ...setup, url: `http://127.0.0.1:${port}`, key: operatorKey }
}
