// Places for questions under way, shared out among tenants: a tenant has a bounded number, and the last tenth goes only to tenants
// that have none. Further questions wait, the tenants taking turns, and are refused when they have waited for too long.

export interface PlacesOptions {
  /** Under way in all. */
  placesMax: number
  /** Under way for one tenant. */
  placesOfTenantMax: number
  /** Waiting, for one tenant. */
  waitingOfTenantMax: number
  /** Waiting in all. */
  waitingMax: number
  /** Nobody waits longer for an answer. */
  waitMsMax: number
}

export interface PlaceRequest {
  /** Begins the question; its place is free again when the promise is fulfilled. It must not reject. */
  start(): Promise<unknown>
  refuse(): void
}

interface Waiting extends PlaceRequest {
  untilMs: number
}

interface Share {
  underWay: number
  waiting: Waiting[]
}

export class QuestionPlaces {
  readonly #nowMs: () => number
  readonly #options: PlacesOptions
  readonly #shares = new Map<string, Share>()
  /** Tenants with a question that waits; the first is next. */
  readonly #turns = new Set<string>()
  #underWay = 0
  #waiting = 0

  constructor(nowMs: () => number, options: PlacesOptions) {
    this.#nowMs = nowMs
    this.#options = options
  }

  /** Starts it, lets it wait, or refuses it. */
  enter(tenantId: string, request: PlaceRequest): void {
    const share = this.#shareOf(tenantId)
    const { waitingMax, waitingOfTenantMax, waitMsMax } = this.#options
    if (share.waiting.length === 0 && this.#mayStart(share)) this.#start(tenantId, share, request)
    else if (share.waiting.length >= waitingOfTenantMax || this.#waiting >= waitingMax) {
      this.#forgetIfEmpty(tenantId, share)
      request.refuse()
    } else {
      share.waiting.push({
        start: () => request.start(),
        refuse: () => request.refuse(),
        untilMs: this.#nowMs() + waitMsMax,
      })
      this.#waiting += 1
      this.#turns.add(tenantId)
    }
  }

  #shareOf(tenantId: string): Share {
    const known = this.#shares.get(tenantId)
    if (known !== undefined) return known
    const share: Share = { underWay: 0, waiting: [] }
    this.#shares.set(tenantId, share)
    return share
  }

  #mayStart({ underWay }: Share): boolean {
    const { placesMax, placesOfTenantMax } = this.#options
    const open = underWay === 0 ? placesMax : Math.ceil(placesMax * 0.9)
    return this.#underWay < open && underWay < placesOfTenantMax
  }

  #start(tenantId: string, share: Share, request: PlaceRequest): void {
    share.underWay += 1
    this.#underWay += 1
    void request.start().then(() => {
      share.underWay -= 1
      this.#underWay -= 1
      this.#startWaiting()
      this.#forgetIfEmpty(tenantId, share)
    })
  }

  #forgetIfEmpty(tenantId: string, { underWay, waiting }: Share): void {
    if (underWay === 0 && waiting.length === 0) this.#shares.delete(tenantId)
  }

  #startWaiting(): void {
    const nowMs = this.#nowMs()
    for (const tenantId of this.#turns) {
      if (this.#underWay >= this.#options.placesMax) return
      const share = this.#shares.get(tenantId)!
      for (let next = share.waiting[0]; next !== undefined && next.untilMs <= nowMs; next = share.waiting[0])
        this.#take(share).refuse()
      const isNext = share.waiting.length > 0 && this.#mayStart(share)
      if (isNext) this.#start(tenantId, share, this.#take(share))
      if (share.waiting.length === 0) {
        this.#turns.delete(tenantId)
        this.#forgetIfEmpty(tenantId, share)
      } else if (isNext) {
        // To the end, where this loop comes to it again.
        this.#turns.delete(tenantId)
        this.#turns.add(tenantId)
      }
    }
  }

  #take(share: Share): Waiting {
    this.#waiting -= 1
    return share.waiting.shift()!
  }
}
