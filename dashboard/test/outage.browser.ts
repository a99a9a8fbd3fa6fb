// The server goes away and comes back: the page says so meanwhile, and recovers by itself.
import test from 'node:test'
import { Api } from './api.ts'
import { openPage } from './open-page.ts'
import { ServerProcess } from './server-process.ts'

test('when the server goes away the page says how old it is, and when it comes back it is live again', async (t) => {
  const first = await ServerProcess.start()
  let server = first
  t.after(() => server.remove())
  const { url, key } = first
  const page = await openPage(t, {
    server: first,
    // Requests to a server that stops, is not there, or starts.
    expects: [/ERR_(CONNECTION|INCOMPLETE|EMPTY|NETWORK)|503 /],
  })
  await page.goto('/jobs')
  await page.getByText(/^Live · /).waitFor()
  await first.stop()
  await page.getByText(/^Not live · .* old$/).waitFor()

  server = await ServerProcess.start({ port: Number(new URL(url).port), dataDir: first.dataDir })
  await page.getByText(/^Live · /).waitFor()
  // Still the same page and the same session: new events appear on their own.
  await new Api({ url, key }).makeJob({ name: 'Made after the outage' })
  await page.getByRole('link', { name: 'Made after the outage' }).waitFor()
})
