// Opens the port of an HTTP server, with advice when it cannot be opened, and closes it again.
import type { FastifyInstance } from 'fastify'
import { type OwnHosts, ownHostsOf } from '../api/http/own-hosts.ts'
import { type Config, isLoopback } from '../config/read.ts'
import { OperatingError } from '../lib/operating-error.ts'
import { withDeadline } from '../lib/time/deadline.ts'
import type { Timers } from '../ports/timers.ts'

/** The port belongs to another program. */
export class PortTaken extends OperatingError {}

/** Returns the URL at which it answers. */
export async function listen(
  app: FastifyInstance,
  { host, port }: Pick<Config, 'host' | 'port'>,
): Promise<string> {
  try {
    return await app.listen({ host, port })
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    if (code === 'EADDRINUSE') {
      const other = port === 65_535 ? 7420 : port + 1
      throw new PortTaken(
        `Port ${port} on ${host} is in use by another program. Choose another one: CARILLON_PORT=${other} npm start`,
        { cause },
      )
    }
    if (code === 'EACCES') {
      throw new OperatingError(
        `Port ${port} needs privileges we do not have. Set CARILLON_PORT above 1023.`,
        { cause },
      )
    }
    if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
      throw new OperatingError(`CARILLON_HOST: ${host} is not an address of this machine.`, { cause })
    }
    throw cause
  }
}

/** The names that a server answers to; null: all, as its address is reached from elsewhere by names we cannot know. */
export function hostsOf({ host, publicUrl }: Pick<Config, 'host' | 'publicUrl'>): OwnHosts | null {
  return isLoopback(host) ? ownHostsOf(host, publicUrl) : null
}

/** A client that never finishes its request must not hold up the stop. */
export async function closeApp(timers: Timers, app: FastifyInstance, drainMs: number): Promise<void> {
  const closed = app.close()
  if ((await withDeadline(timers, drainMs, closed)) === 'late') app.server.closeAllConnections()
  await closed
}
