// The settings of DNS on this machine: the servers, and the domains under which short names are searched. Node's resolver reads
// the servers once and does not search; in Kubernetes a service is found only by searching.
import { isIP } from 'node:net'

export interface ResolvConf {
  /** Addresses, each with a port if it is not 53. None: the servers that Node's resolver finds by itself. */
  servers: readonly string[]
  search: readonly string[]
  /** A name with fewer dots is searched for under the domains before it is asked for as it is. */
  dotsMin: number
}

const searchMax = 32
const dotsMinMax = 15

/** As resolv.conf(5) has it. */
export function parseResolvConf(text: string): ResolvConf {
  const servers: string[] = []
  let search: string[] = []
  let dotsMin = 1
  for (const line of text.split('\n')) {
    const [keyword, ...values] = line
      .replace(/^\s*[#;].*/, '')
      .trim()
      .split(/\s+/)
    if (keyword === 'nameserver' && isServer(values[0])) servers.push(values[0]!)
    else if (keyword === 'search' || keyword === 'domain')
      search = values.map((domain) => domain.replace(/\.$/, '')).filter((domain) => domain !== '')
    else if (keyword === 'options') {
      const given = values.map((option) => /^ndots:(\d{1,3})$/.exec(option)?.[1]).findLast((dots) => dots)
      if (given !== undefined) dotsMin = Math.min(Number(given), dotsMinMax)
    }
  }
  return { servers, search: search.slice(0, searchMax), dotsMin }
}

/** Not one of a zone (`fe80::1%eth0`), which Node's resolver finds by itself and cannot be told. */
function isServer(address = ''): boolean {
  return isIP(address) !== 0 && !address.includes('%')
}

/** The names to ask for, in order, until one has an address. A dot at the end: this name and no other. */
export function candidatesOf(hostname: string, { search, dotsMin }: ResolvConf): string[] {
  if (hostname.endsWith('.')) return [hostname.slice(0, -1)]
  const searched = search.map((domain) => `${hostname}.${domain}`)
  const dots = hostname.split('.').length - 1
  return dots >= dotsMin ? [hostname, ...searched] : [...searched, hostname]
}
