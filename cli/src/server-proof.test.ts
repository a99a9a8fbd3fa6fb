// A key that the command found by itself goes to the server of its data directory, and to no other program.
import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import { type AddressInfo, connect, createServer as createRelay } from 'node:net'
import test, { type TestContext } from 'node:test'
import { cleanUp } from '../../server/test/cleanup.ts'
import { makeDataDir } from '../../server/test/data-dir.ts'
import { Program } from '../../server/test/e2e/program.ts'
import { cli, startServer } from '../test/cli.ts'

const words = (text: string) => text.trim().split(/\s+/)

/** Listens where a server might, and remembers each request. */
async function startSquatter(t: TestContext, answer: RequestListener) {
  const requests: IncomingMessage[] = []
  const squatter = createServer((request, response) => {
    requests.push(request)
    answer(request, response)
  })
  await new Promise<void>((resolve) => squatter.listen(0, '127.0.0.1', resolve))
  cleanUp(t, () => void squatter.close())
  return { url: `http://127.0.0.1:${(squatter.address() as AddressInfo).port}`, requests }
}

test('a key of a data directory is sent only to the server that proves that it knows the key', async (t) => {
  const server = await startServer(t)
  const list = (url: string, env: Record<string, string> = {}) =>
    cli(words('jobs list'), { env: { CARILLON_URL: url, CARILLON_DATA: server.dataDir, ...env } })
  assert.equal((await list(server.url)).code, 0)

  const answers: Record<string, RequestListener> = {
    'nothing that it knows': (_request, response) => response.writeHead(404).end('{}'),
    'a proof of its own': (_request, response) => response.end(JSON.stringify({ proof: 'a'.repeat(64) })),
    'no proof': (_request, response) => response.end(JSON.stringify({ proof: null })),
    'text without end': (_request, response) => {
      const timer = setInterval(() => response.write('x'.repeat(4_000)), 1)
      response.on('close', () => clearInterval(timer))
    },
    // The real server proves it for its own port alone.
    'the proof of the real server': async (request, response) =>
      response.end(await (await fetch(`${server.url}${request.url}`)).text()),
  }
  for (const [name, answer] of Object.entries(answers)) {
    await t.test(`a program that answers with ${name} gets no key`, async (t) => {
      const { url, requests } = await startSquatter(t, answer)
      for (const command of ['jobs list', 'status']) {
        const { code, err } = await cli(words(command), {
          env: { CARILLON_URL: url, CARILLON_DATA: server.dataDir },
        })
        assert([5, 7].includes(code), `${code} ${err}`)
      }
      for (const { headers } of requests) assert.equal(headers.authorization, undefined)
      assert(requests.some(({ url: path }) => path!.startsWith('/proof?nonce=')))
    })
  }

  await t.test('the refusal says why, and how to go on', async (t) => {
    const { url, requests } = await startSquatter(t, answers['no proof']!)
    const { err } = await list(url)
    assert.match(err, /the key in .*api-key was not sent: the program at http:\S+ does not know it/)
    assert.match(err, /--key or CARILLON_API_KEY/)
    const doctor = await cli(words('doctor --json'), {
      env: { CARILLON_URL: url, CARILLON_DATA: server.dataDir },
    })
    assert.equal(doctor.code, 9)
    // A key that the user gives is sent as it was.
    await list(url, { CARILLON_API_KEY: server.key })
    assert.equal(requests.at(-1)!.headers.authorization, `Bearer ${server.key}`)
  })

  await t.test('a wire that passes everything on does not get a proof for itself', async (t) => {
    const { port } = new URL(server.url)
    const wire = createRelay((client) => {
      const far = connect(Number(port), '127.0.0.1')
      client.pipe(far).pipe(client)
      for (const end of [client, far]) end.on('error', () => {})
    })
    await new Promise<void>((resolve) => wire.listen(0, '127.0.0.1', resolve))
    cleanUp(t, () => void wire.close())
    const { code, err } = await list(`http://127.0.0.1:${(wire.address() as AddressInfo).port}`)
    assert.equal(code, 5, err)
  })
})

test('a server whose key was given by the environment proves nothing', async (t) => {
  const env = { CARILLON_API_KEY: 'a-key-from-the-environment-0123456789' }
  const url = await new Program(t, { dataDir: await makeDataDir(t), env }).ready()
  const answer = await fetch(`${url}/proof?nonce=${'0'.repeat(64)}`)
  assert.deepEqual(await answer.json(), { proof: null })
  assert.equal((await fetch(`${url}/proof?nonce=x`)).status, 400)
})
