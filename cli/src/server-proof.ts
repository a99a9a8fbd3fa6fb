// Whether the program at a local address is the server of the data directory that a key was found in. Any program may listen
// there; the key is for ours alone.
import { randomBytes, timingSafeEqual } from 'node:crypto'
import { get as getHttp } from 'node:http'
import { get as getHttps } from 'node:https'
import { ConnectionError } from '@carillon/sdk'
import { proveServer, type ServerEnd } from '@carillon/server/lib/server-proof.ts'
import { CliError, EXIT } from './exit-code.ts'

const answerMsMax = 10_000
const answerBytesMax = 10_000

/** Throws unless the server proves that it knows the key; nothing of the key is sent. */
export async function requireProof(url: string, key: string, keyFile: string): Promise<void> {
  const nonce = randomBytes(32).toString('hex')
  const { end, text } = await ask(new URL(`/proof?nonce=${nonce}`, url))
  const expected = Buffer.from(proveServer(key, nonce, end))
  const given = Buffer.from(readProof(text))
  if (given.length === expected.length && timingSafeEqual(given, expected)) return
  throw new CliError(
    EXIT.auth,
    `the key in ${keyFile} was not sent: the program at ${url} does not know it.`,
    [
      'Another program listens there, or a Carillon of another data directory or an older version. carillon start says where a server answers.',
      'To send a key all the same, give it with --key or CARILLON_API_KEY.',
    ],
  )
}

function ask(url: URL): Promise<{ end: ServerEnd; text: string }> {
  const get = url.protocol === 'https:' ? getHttps : getHttp
  return new Promise((resolve, reject) => {
    const fail = (cause: Error) =>
      reject(new ConnectionError(`No answer from ${url.origin}: ${cause.message || cause.name}`, { cause }))
    const request = get(url, { agent: false, signal: AbortSignal.timeout(answerMsMax) }, (answer) => {
      const { remoteAddress: address = '', remotePort: port = 0 } = answer.socket
      let text = ''
      answer.on('data', (chunk: Buffer) => {
        text += chunk.toString('latin1')
        if (text.length > answerBytesMax) answer.destroy(new Error('the answer is too long'))
      })
      answer.on('end', () => resolve({ end: { address, port }, text }))
      answer.on('error', fail)
    })
    request.on('error', fail)
  })
}

function readProof(text: string): string {
  try {
    const { proof } = JSON.parse(text) as { proof?: unknown }
    return typeof proof === 'string' ? proof : ''
  } catch {
    return ''
  }
}
