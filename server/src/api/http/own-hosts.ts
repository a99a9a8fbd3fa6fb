// The Host header of a server on loopback. A web page whose name was pointed at 127.0.0.1 (DNS rebinding) reaches it with
// the page's own name in Host, and the browser lets the page read the answers. So only our own names are answered; the
// port is free, as a tunnel or a container may map it.
import type { FastifyRequest } from 'fastify'
import { ApiError } from './api-error.ts'
import { pathOf } from './problem.ts'

/** In the form of a Host header without its port. */
export type OwnHosts = ReadonlySet<string>

/** Probes tell nothing but a version, and a health check may send any name. */
const openPaths: ReadonlySet<string> = new Set(['/livez', '/readyz'])

/** `host`: the loopback address or name that the server listens on. */
export function ownHostsOf(host: string, publicUrl: string | null): OwnHosts {
  const listening = host.includes(':') ? `[${host}]` : host
  const names = ['127.0.0.1', 'localhost', '[::1]', listening.toLowerCase()]
  return new Set(publicUrl === null ? names : [...names, new URL(publicUrl).hostname])
}

/** A request without the header, which only HTTP/1.0 may send, comes from no browser. */
export function checkHost(request: FastifyRequest, hosts: OwnHosts): void {
  const { host } = request.headers
  if (host === undefined || openPaths.has(pathOf(request))) return
  const name = host.toLowerCase().replace(/:\d*$/, '')
  if (hosts.has(name)) return
  throw new ApiError('WRONG_HOST', `This server does not answer to the host ${host.slice(0, 100)}.`)
}
