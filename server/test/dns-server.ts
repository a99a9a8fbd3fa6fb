// A name server on a UDP port of loopback, any free one unless told, which answers each question as told.
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { isIP } from 'node:net'
import type { TestContext } from 'node:test'
import { cleanUp } from './cleanup.ts'

export type DnsType = 'A' | 'AAAA'

/** Addresses (only the asked family is sent), at once or after a while, or an error, or nothing at all. */
export type DnsAnswer =
  | { addresses: string[]; ttl: number; afterMs?: number }
  | 'NXDOMAIN'
  | 'SERVFAIL'
  | 'silent'

export interface DnsServer {
  /** As a resolver is told it. */
  address: string
  /** Everything that was asked, in order, as `A name`. */
  questions: string[]
}

const types: Record<number, DnsType> = { 1: 'A', 28: 'AAAA' }
const errorCodes = { NXDOMAIN: 3, SERVFAIL: 2 }

export async function startDnsServer(
  t: TestContext,
  answer: (name: string, type: DnsType) => DnsAnswer,
  at = { address: '127.0.0.1', port: 0 },
): Promise<DnsServer> {
  const questions: string[] = []
  const socket = createSocket('udp4')
  socket.on('message', (message, { port, address }) => {
    const { name, type, end } = readQuestion(message)
    questions.push(`${type} ${name}`)
    const said = answer(name, type)
    if (said === 'silent') return
    const records = typeof said === 'string' ? [] : toRecords(said, type)
    // The same id and question, as an answer (0x8180) with these records and nothing further.
    const reply = Buffer.from(message.subarray(0, end))
    reply.writeUInt16BE(0x8180 | (typeof said === 'string' ? errorCodes[said] : 0), 2)
    reply.writeUInt16BE(records.length, 6)
    reply.writeUInt32BE(0, 8)
    const send = () => socket.send(Buffer.concat([reply, ...records]), port, address)
    const { afterMs } = typeof said === 'string' ? {} : said
    if (afterMs === undefined) send()
    else setTimeout(send, afterMs)
  })
  socket.bind(at.port, at.address)
  await once(socket, 'listening')
  cleanUp(t, () => socket.close())
  return { address: `${at.address}:${socket.address().port}`, questions }
}

function readQuestion(message: Buffer): { name: string; type: DnsType; end: number } {
  const labels: string[] = []
  let at = 12
  for (let length = message[at]!; length > 0; length = message[at]!) {
    labels.push(message.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  return { name: labels.join('.').toLowerCase(), type: types[message.readUInt16BE(at + 1)]!, end: at + 5 }
}

function toRecords({ addresses, ttl }: { addresses: string[]; ttl: number }, type: DnsType): Buffer[] {
  return addresses
    .filter((address) => isIP(address) === (type === 'A' ? 4 : 6))
    .map((address) => {
      const bytes = toBytes(address)
      const head = Buffer.alloc(12)
      // The name of the question, its type, class IN.
      head.writeUInt16BE(0xc00c, 0)
      head.writeUInt16BE(type === 'A' ? 1 : 28, 2)
      head.writeUInt16BE(1, 4)
      head.writeUInt32BE(ttl, 6)
      head.writeUInt16BE(bytes.length, 10)
      return Buffer.concat([head, bytes])
    })
}

function toBytes(address: string): Buffer {
  if (isIP(address) === 4) return Buffer.from(address.split('.').map(Number))
  const [before = '', after = ''] = address.split('::')
  const groups = (text: string) => (text === '' ? [] : text.split(':'))
  const missing = 8 - groups(before).length - groups(after).length
  const all = [...groups(before), ...Array.from({ length: missing }, () => '0'), ...groups(after)]
  return Buffer.from(all.map((group) => group.padStart(4, '0')).join(''), 'hex')
}
