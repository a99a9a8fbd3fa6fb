// The network of a client, for bounds by address: a host with IPv6 usually has all 2^64 addresses of its network, and would
// otherwise have as many bounds.
import { isIPv6 } from 'node:net'

/** An IPv4 address, or the first 64 bits of an IPv6 address. */
export function networkOf(address: string): string {
  // As sockets for both families show an IPv4 address.
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (mapped !== undefined) return mapped
  if (!isIPv6(address)) return address
  const [before = '', after] = address.split('%')[0]!.split('::')
  const given = groupsOf(before)
  const missing = after === undefined ? 0 : 8 - given.length - groupsOf(after).length
  const groups = [...given, ...Array.from({ length: missing }, () => '0'), ...groupsOf(after ?? '')]
  return `${groups.slice(0, 4).map(normalize).join(':')}::/64`
}

function groupsOf(text: string): string[] {
  if (text === '') return []
  // An IPv4 address at the end has the bits of two groups.
  return text.replace(/\d+\.\d+\.\d+\.\d+$/, '0:0').split(':')
}

const normalize = (group: string): string => Number.parseInt(group, 16).toString(16)
