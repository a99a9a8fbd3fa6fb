// A receiver of HTTP callbacks: checks the signature, answers 202 at once, and completes later with the token it got.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createClient, SignatureError, verifySignature } from '@carillon/sdk'

const url = process.env['CARILLON_URL'] ?? 'http://127.0.0.1:7420'
const key = process.env['CARILLON_API_KEY'] ?? ''
const client = createClient({ url, key })
const { key: secret } = await client.signingKey.get()

const receiver = createServer(async (request, response) => {
  const body = Buffer.concat(await request.toArray())
  try {
    const { id } = verifySignature({ secret, headers: request.headers, body })
    // 202 with this header: the answer comes later. From here on the attempt's time runs, and its token speaks for it.
    response.writeHead(202, { 'X-Carillon-Async': 'true' }).end()
    await work(id, String(request.headers['x-carillon-token']))
  } catch (error) {
    if (!(error instanceof SignatureError)) throw error
    console.error(`refused: ${error.message}`)
    response.writeHead(401).end()
  }
}).listen(0, '127.0.0.1')

async function work(executionId: string, token: string): Promise<void> {
  const { status } = await client.executions.heartbeat(
    executionId,
    { progress: 0.5, message: 'half' },
    { token },
  )
  if (status === 'CANCELLING') return
  await client.executions.complete(executionId, { status: 'succeeded', result: { rows: 42 } }, { token })
}

await new Promise((resolve) => receiver.once('listening', resolve))
const { port } = receiver.address() as AddressInfo
// A request from another sender is refused, however well it is made.
const forged = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: '{}' })
console.log(`a stranger gets ${forged.status}`)

const { execution_id } = await client.jobs.create({
  name: 'signed callback',
  schedule: { type: 'IMMEDIATE' },
  execution: { callback_url: `http://127.0.0.1:${port}/`, payload: { hello: 'world' } },
})
for (;;) {
  const { status } = await client.executions.get(execution_id!)
  if (status === 'SUCCEEDED' || status === 'FAILED') {
    console.log(`the callback ${status}`)
    break
  }
  await new Promise((resolve) => setTimeout(resolve, 100))
}
receiver.close()
receiver.closeAllConnections()
