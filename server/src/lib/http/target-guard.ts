// Which addresses may be called, and by which tenants. An address in a URL is checked before the call; a name is checked as
// it is resolved, and the connection uses exactly the addresses that were checked, so a name that resolves differently
// between check and connection (DNS rebinding) gains nothing. A kept-alive connection is to a checked address.
//
// Only the operator's own tenant learns why a name cannot be called. For the others a name with a forbidden address is
// like a name that does not exist: the names inside the operator's network are not theirs to explore.
import type { LookupAddress } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import type { HttpTarget } from '../../ports/http.ts'
import { RecentMap } from '../recent-map.ts'
import { type Classify, createClassifier, isLoopbackAddress } from './address-kinds.ts'

export type PrivateTargets =
  | { kind: 'allow' }
  | { kind: 'refuse' }
  | { kind: 'listed'; cidrs: readonly string[] }
  /** Allowed to the operator's own tenant; other tenants may call `/echo` of this server. */
  | { kind: 'own_tenant' }

export interface TargetGuard {
  /** Why calls of the tenant to the target are refused, as far as its URL says; `lookupOf` checks the addresses of a name. */
  checkTarget(tenantId: string, target: HttpTarget): string | null
  /** For `connect`: resolves a name, or fails when any of its addresses is forbidden to the tenant. */
  lookupOf(tenantId: string, origin: string): LookupFunction
  /** Whether the tenant is told in detail why a connection failed, addresses included. */
  tellsDetail(tenantId: string): boolean
}

/** All addresses of a name, for a call of the tenant. */
export type ResolveName = (tenantId: string, hostname: string) => Promise<readonly LookupAddress[]>

export interface RefusedTarget {
  tenantId: string
  host: string
  /** The forbidden address that the name has, or the host itself. */
  address: string
  /** Of the address, with its article: 'a loopback'. */
  kind: string
}

export interface TargetGuardOptions {
  privateTargets: PrivateTargets
  resolveName: ResolveName
  /** The operator's own. */
  ownTenantId: string
  /** Where our API listens on loopback, as `URL` spells it; null: not known. Asked for each call that is refused otherwise. */
  ownOrigin?: () => string | null
  /** Called once for each tenant and host, as far as they are remembered. */
  onRefused?: (refused: RefusedTarget) => void
}

export class ForbiddenTarget extends Error {}
/** A name that leads nowhere for this tenant. Says neither whether it exists nor where it leads. */
export class NoCallableAddress extends Error {}

/** Verdicts remembered: a call to a known origin costs one look into a map. */
const verdictsMax = 10_000
const refusedMax = 1_000
const setting = 'CARILLON_ALLOW_PRIVATE_TARGETS'

interface Verdict {
  refusal: string
  address: string
  kind: string
}

export function createTargetGuard(options: TargetGuardOptions): TargetGuard {
  const { privateTargets, resolveName, ownTenantId, ownOrigin = () => null, onRefused } = options
  const isOwnOnly = privateTargets.kind === 'own_tenant'
  const cidrs = privateTargets.kind === 'listed' ? privateTargets.cidrs : []
  const ofOthers = new Verdicts(createClassifier({ allowsPrivate: privateTargets.kind === 'allow', cidrs }))
  const ofOwn = isOwnOnly ? new Verdicts(createClassifier({ allowsPrivate: true, cidrs: [] })) : ofOthers
  const verdictsFor = (tenantId: string) => (tenantId === ownTenantId ? ofOwn : ofOthers)
  const isOwnOrigin = (origin: string) => isOwnOnly && origin === ownOrigin()
  const known = new RecentMap<true>({ weightMax: refusedMax })
  const note = (refused: RefusedTarget) => {
    const key = `${refused.tenantId} ${refused.host}`
    if (known.has(key)) return
    known.set(key, true)
    known.prune()
    onRefused?.(refused)
  }

  return {
    tellsDetail: (tenantId) => tenantId === ownTenantId,

    checkTarget(tenantId, { origin, path }) {
      const verdict = verdictsFor(tenantId).of(origin)
      if (verdict === null || (isOwnOrigin(origin) && isEcho(path))) return null
      const { refusal, address, kind } = verdict
      note({ tenantId, host: hostOf(origin), address, kind })
      return refusal
    },

    lookupOf: (tenantId, origin) => (hostname, options, callback) => {
      const { classify } = verdictsFor(tenantId)
      const isOwnTenant = tenantId === ownTenantId
      const onResolved = (addresses: readonly LookupAddress[]) => {
        for (const { address } of addresses) {
          const kind = classify(address)
          // Of calls to it only the ones for /echo come so far.
          if (kind === null || (isLoopbackAddress(address) && isOwnOrigin(origin))) continue
          note({ tenantId, host: hostname, address, kind })
          const error = isOwnTenant
            ? new ForbiddenTarget(refusalOf(`${hostname} resolves to`, kind))
            : nowhere(hostname)
          return callback(error, [])
        }
        if (options.all) return callback(null, [...addresses])
        callback(null, addresses[0]?.address ?? '', addresses[0]?.family)
      }
      resolveName(tenantId, hostname).then(onResolved, (error: NodeJS.ErrnoException) =>
        callback(isOwnTenant || error.code !== 'ENOTFOUND' ? error : nowhere(hostname), []),
      )
    },
  }
}

class Verdicts {
  readonly classify: Classify
  readonly #verdicts = new Map<string, Verdict | null>()

  constructor(classify: Classify) {
    this.classify = classify
  }

  /** Null: its URL says nothing against it. */
  of(origin: string): Verdict | null {
    let verdict = this.#verdicts.get(origin)
    if (verdict === undefined) {
      verdict = judge(origin, this.classify)
      for (const oldest of this.#verdicts.keys()) {
        if (this.#verdicts.size < verdictsMax) break
        this.#verdicts.delete(oldest)
      }
      this.#verdicts.set(origin, verdict)
    }
    return verdict
  }
}

// Parsed the way the connection will parse it: `http://0x7f.1`, `http://2130706433` and `http://127.1` are all
// 127.0.0.1 by then. A host that URL cannot parse cannot be connected to either.
function judge(origin: string, classify: Classify): Verdict | null {
  const host = hostOf(origin)
  const address = host.startsWith('[') ? host.slice(1, -1) : host
  if (isIP(address) === 0) return isLocalhost(host) ? judgeLocalhost(host, classify) : null
  const kind = classify(address)
  return kind === null ? null : { refusal: refusalOf(`${host} is`, kind), address, kind }
}

/** The one name whose addresses are known without a question: it is refused when neither of them may be called. */
function judgeLocalhost(host: string, classify: Classify): Verdict | null {
  const address = '127.0.0.1'
  const kind = classify('::1') === null ? null : classify(address)
  return kind === null ? null : { refusal: refusalOf(`${host} is`, kind), address, kind }
}

function hostOf(origin: string): string {
  return URL.parse(origin)?.hostname ?? ''
}

function isLocalhost(host: string): boolean {
  return host === 'localhost' || host === 'localhost.'
}

/** `path`: as `URL` spells it, with the query. */
function isEcho(path: string): boolean {
  return path === '/echo' || path.startsWith('/echo?')
}

// Gives the kind of address and not the address: how a name resolves inside our network is not the caller's business.
function refusalOf(subject: string, kind: string): string {
  return `${subject} ${kind} address, which is refused; an operator can allow it (${setting})`
}

function nowhere(hostname: string): NoCallableAddress {
  const why = 'there is no such name, or it leads to an address that is refused'
  return new NoCallableAddress(`${hostname} has no address that may be called: ${why} (${setting})`)
}
