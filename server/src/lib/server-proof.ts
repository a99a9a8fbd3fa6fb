// By which a server shows to the command line on its machine that it knows the key of the data directory, without sending
// it. Bound to the address and the port of the connection: a program elsewhere cannot pass on the proof of the real server.
import { createHmac } from 'node:crypto'

export interface ServerEnd {
  /** The server's, of this connection. */
  address: string
  port: number
}

export function proveServer(key: string, nonce: string, { address, port }: ServerEnd): string {
  // A socket for both families writes addresses of the older one in the newer form.
  const plain = address.replace(/^::ffff:/, '')
  return createHmac('sha256', key).update(`carillon server\n${plain}\n${port}\n${nonce}`).digest('hex')
}
