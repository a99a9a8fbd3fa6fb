// Which kind of address one is: IANA's special-purpose registries, and the addresses of clouds that hand out credentials.
import { BlockList, isIP } from 'node:net'

/** Gives the kind of a forbidden address, null for one that may be called. */
export type Classify = (address: string) => string | null

export interface AllowedAddresses {
  /** Every private address, but not link-local and metadata addresses. */
  allowsPrivate: boolean
  /** Networks that may be called in any case. */
  cidrs: readonly string[]
}

/** IANA's special-purpose registries, the narrower network before the wider one. */
type Kinds = [kind: string, ...cidrs: string[]][]

const KINDS_OF_IPV4: Kinds = [
  ['a loopback', '127.0.0.0/8'],
  ['a private', '10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16'],
  ['a link-local', '169.254.0.0/16'],
  ['a shared (carrier NAT)', '100.64.0.0/10'],
  ['an unspecified', '0.0.0.0/8'],
  ['a multicast', '224.0.0.0/4'],
  ['a broadcast', '255.255.255.255/32'],
  ['a benchmarking', '198.18.0.0/15'],
  ['a documentation', '192.0.2.0/24', '198.51.100.0/24', '203.0.113.0/24'],
  // Azure answers on a public address that only its own machines reach.
  ['a metadata', '168.63.129.16/32'],
  ['a reserved', '240.0.0.0/4', '192.0.0.0/24', '192.88.99.0/24'],
]
const KINDS_OF_IPV6: Kinds = [
  ['an unspecified', '::/128'],
  ['a loopback', '::1/128'],
  ['an IPv4-mapped', '::ffff:0:0/96'],
  ['an IPv4-compatible', '::/96'],
  ['a NAT64', '64:ff9b::/96', '64:ff9b:1::/48'],
  ['a 6to4', '2002::/16'],
  ['a Teredo', '2001::/32'],
  ['a unique local', 'fc00::/7'],
  ['a link-local', 'fe80::/10'],
  ['a site-local', 'fec0::/10'],
  ['a multicast', 'ff00::/8'],
  ['a benchmarking', '2001:2::/48'],
  ['a documentation', '2001:db8::/32', '3fff::/20'],
  ['a reserved', '2001::/23'],
]

// Where clouds hand out the credentials of a machine: refused also where private addresses are allowed, unless listed.
const METADATA_IPV4: Kinds = [
  ['a link-local', '169.254.0.0/16'],
  ['a metadata', '100.100.100.200/32', '168.63.129.16/32'],
]
const METADATA_IPV6: Kinds = [
  ['a link-local', 'fe80::/10', '::ffff:a9fe:0/112', '::a9fe:0/112', '64:ff9b::a9fe:0/112', '2002:a9fe::/32'],
  ['a metadata', 'fd00:ec2::/32', 'fd20:ce::254/128', '::ffff:6464:64c8/128'],
]

export function createClassifier({ allowsPrivate, cidrs }: AllowedAddresses): Classify {
  // Never IPv4 and IPv6 in one list: BlockList finds every IPv4 address inside ::ffff:0:0/96.
  const listedIpv4 = networks(cidrs.filter((cidr) => !cidr.includes(':')))
  const listedIpv6 = networks(cidrs.filter((cidr) => cidr.includes(':')))
  const ipv4 = (allowsPrivate ? METADATA_IPV4 : KINDS_OF_IPV4).map(([kind, ...cidrs]) => ({
    kind,
    list: networks(cidrs),
  }))
  const ipv6 = (allowsPrivate ? METADATA_IPV6 : KINDS_OF_IPV6).map(([kind, ...cidrs]) => ({
    kind,
    list: networks(cidrs),
  }))
  const mapped = networks(['::ffff:0:0/96'])
  const globalIpv6 = networks(['2000::/3'])

  return (address) => {
    if (isIP(address) === 4) {
      if (listedIpv4.check(address, 'ipv4')) return null
      return ipv4.find(({ list }) => list.check(address, 'ipv4'))?.kind ?? null
    }
    // A mapped address leads to its IPv4 address, so only a listed IPv4 network may allow it.
    const listed = mapped.check(address, 'ipv6') ? listedIpv4 : listedIpv6
    if (listed.check(address, 'ipv6')) return null
    const kind = ipv6.find(({ list }) => list.check(address, 'ipv6'))?.kind
    if (allowsPrivate) return kind ?? null
    // Beyond 2000::/3 nothing is assigned; an address that cannot be read ends here too.
    return kind ?? (globalIpv6.check(address, 'ipv6') ? null : 'a reserved')
  }
}

function networks(cidrs: readonly string[]): BlockList {
  const list = new BlockList()
  for (const cidr of cidrs) {
    const [address = '', bits] = cidr.split('/')
    list.addSubnet(address, Number(bits), address.includes(':') ? 'ipv6' : 'ipv4')
  }
  return list
}

const loopbackIpv4 = networks(['127.0.0.0/8'])

export function isLoopbackAddress(address: string): boolean {
  return isIP(address) === 4 ? loopbackIpv4.check(address, 'ipv4') : address === '::1'
}
