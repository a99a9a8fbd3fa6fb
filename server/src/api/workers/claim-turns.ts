// Turns among tenants at the claim desk: which parked claim is served next, and which routes are asked about first. A
// tenant with thousands of parked workers, or of handlers, is served beside the others and not before them.

interface TenantTurn<Claim> {
  /** In order of arrival. */
  waiting: Claim[]
  at: number
  underWay: number
}

/** The claims of one look. */
export class ClaimTurns<Claim> {
  /** The tenant that was served last is the last one. */
  readonly #tenants = new Map<string, TenantTurn<Claim>>()
  #waitingTenants = 0

  /** In order of arrival. */
  constructor(claims: Iterable<Claim>, tenantOf: (claim: Claim) => string) {
    for (const claim of claims) {
      const tenant = this.#tenants.get(tenantOf(claim))
      if (tenant === undefined) this.#tenants.set(tenantOf(claim), { waiting: [claim], at: 0, underWay: 0 })
      else tenant.waiting.push(claim)
    }
    this.#waitingTenants = this.#tenants.size
  }

  /** Tenants with a claim that is not served yet. */
  get waitingTenants(): number {
    return this.#waitingTenants
  }

  /** Of the tenant with the fewest under way. `leave` is to be called once. Null: every claim has had its turn. */
  next(): { claim: Claim; leave: () => void } | null {
    let found: [string, TenantTurn<Claim>] | null = null
    for (const one of this.#tenants) {
      const [, { waiting, at, underWay }] = one
      if (at === waiting.length) continue
      if (found === null || underWay < found[1].underWay) found = one
      if (underWay === 0) break
    }
    if (found === null) return null
    const [tenantId, tenant] = found
    this.#tenants.delete(tenantId)
    this.#tenants.set(tenantId, tenant)
    const claim = tenant.waiting[tenant.at++]!
    if (tenant.at === tenant.waiting.length) this.#waitingTenants -= 1
    tenant.underWay += 1
    const leave = () => {
      tenant.underWay -= 1
    }
    return { claim, leave }
  }
}

/**
 * The words of all tenants in groups of at most `groupMax`; of each tenant as many in a group as there is room for beside
 * the others. Where a tenant has more than a group of them, the first ones are others each `turn`.
 */
export function* groupsInTurn(
  byTenant: Iterable<ReadonlyMap<string, unknown>>,
  { groupMax, turn }: { groupMax: number; turn: number },
): Generator<string[]> {
  let sources = Array.from(byTenant, (words) => rotated(words, groupMax, turn))
  let group: string[] = []
  while (sources.length > 0) {
    const left: typeof sources = []
    for (const source of sources) {
      const { value, done } = source.next()
      if (done === true) continue
      left.push(source)
      group.push(value)
      if (group.length < groupMax) continue
      yield group
      group = []
    }
    sources = left
  }
  if (group.length > 0) yield group
}

function rotated(words: ReadonlyMap<string, unknown>, groupMax: number, turn: number): Iterator<string> {
  if (words.size <= groupMax) return words.keys()
  const all = [...words.keys()]
  const start = (turn * groupMax) % all.length
  return [...all.slice(start), ...all.slice(0, start)].values()
}
