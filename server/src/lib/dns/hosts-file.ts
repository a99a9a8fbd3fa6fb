// The hosts file: names with fixed addresses, which come before anything that DNS says.
import type { LookupAddress } from 'node:dns'
import { isIP } from 'node:net'

export type Hosts = ReadonlyMap<string, readonly LookupAddress[]>

/** By name in lower case; IPv4 addresses first. */
export function parseHosts(text: string): Hosts {
  const hosts = new Map<string, LookupAddress[]>()
  for (const line of text.split('\n')) {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/)
    const family = isIP(address)
    if (family === 0) continue
    for (const name of names) {
      const known = hosts.get(name.toLowerCase())
      if (known === undefined) hosts.set(name.toLowerCase(), [{ address, family }])
      else if (!known.some((one) => one.address === address)) known.push({ address, family })
    }
  }
  for (const addresses of hosts.values()) addresses.sort((one, other) => one.family - other.family)
  return hosts
}

const loopback: readonly LookupAddress[] = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
]

/** Null: DNS has to say. */
export function findHost(hosts: Hosts, name: string): readonly LookupAddress[] | null {
  const addresses = hosts.get(name)
  if (addresses !== undefined) return addresses
  // RFC 6761: never a question for DNS.
  return name === 'localhost' || name.endsWith('.localhost') ? loopback : null
}
