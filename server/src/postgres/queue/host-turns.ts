// The hosts at which looks for waiting executions ended: of a tenant with more hosts than one look visits, the next look goes
// on behind the last one. By route, since workers look for different ones. Forgetting costs a turn, and nothing else.

export interface HostTurn {
  route: string
  tenantId: string
  host: string
}

/** The ones of a look. */
export interface Behind {
  turns: readonly HostTurn[]
  /** Routes, tenants and hosts. */
  columns: readonly [readonly string[], readonly string[], readonly string[]]
}

const turnsMax = 10_000

export class HostTurns {
  /** By route, then by tenant. */
  readonly #turns = new Map<string, HostTurn>()

  /** Where a look for these routes begins. */
  of(routes: readonly string[]): Behind {
    const wanted = new Set(routes)
    const turns =
      this.#turns.size === 0 ? [] : [...this.#turns.values()].filter((one) => wanted.has(one.route))
    return {
      turns,
      columns: [
        turns.map(({ route }) => route),
        turns.map(({ tenantId }) => tenantId),
        turns.map(({ host }) => host),
      ],
    }
  }

  /** A look from there ended behind these hosts; the tenants that it does not name have no further ones. */
  move({ turns }: Behind, last: readonly HostTurn[]): void {
    for (const turn of turns) this.#turns.delete(keyOf(turn))
    for (const turn of last) if (this.#turns.size < turnsMax) this.#turns.set(keyOf(turn), turn)
  }
}

function keyOf({ route, tenantId }: HostTurn): string {
  return `${route} ${tenantId}`
}
