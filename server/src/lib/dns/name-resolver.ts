// The addresses of names, for calls to targets: the hosts file first, then DNS. An answer is remembered for a while, a name is asked
// for once at a time however many calls want it, and the questions of one tenant never hold up another's.
import type { LookupAddress } from 'node:dns'
import type { Timers } from '../../ports/timers.ts'
import { RecentMap } from '../recent-map.ts'
import { askName, type NameAnswer, NameError, type Question } from './ask-name.ts'
import { findHost, type Hosts, parseHosts } from './hosts-file.ts'
import { type PlacesOptions, QuestionPlaces } from './question-places.ts'
import { parseResolvConf, type ResolvConf } from './resolv-conf.ts'
import { WatchedFile } from './watched-file.ts'

type Addresses = readonly LookupAddress[]

export interface NameResolverOptions {
  /** Default: of this machine, from /etc/hosts. Returns the same object until it has changed. */
  hosts?: () => Hosts
  /** Default: of this machine, from /etc/resolv.conf. Returns the same object until it has changed. */
  conf?: () => ResolvConf
  places?: Partial<PlacesOptions>
}

interface Remembered {
  /** Null: the question failed. */
  addresses: Addresses | null
  error: NameError | null
  untilMs: number
}

const answerMsMax = 30_000
/** A time of none would be a question for each connection. */
const answerMsMin = 1_000
const failureMs = 5_000
const namesMax = 10_000
const defaultPlaces: PlacesOptions = {
  placesMax: 256,
  placesOfTenantMax: 16,
  waitingOfTenantMax: 1_000,
  waitingMax: 10_000,
  // A call gives up its connection by then.
  waitMsMax: 10_000,
}

export class NameResolver implements Disposable {
  readonly #timers: Timers
  readonly #nowMs: () => number
  readonly #hosts: () => Hosts
  readonly #conf: () => ResolvConf
  readonly #places: QuestionPlaces
  readonly #remembered = new RecentMap<Remembered>({ weightMax: namesMax })
  readonly #underWay = new Map<string, Promise<Addresses>>()
  /** By tenant and name: a question that waits for a place waits among its tenant's. */
  readonly #waiting = new Map<string, Promise<Addresses>>()
  /** Under way: their places are not free again. */
  readonly #questions = new Set<Question>()
  #isClosed = false
  #turn = 0

  /** `nowMs`: a monotonic clock. */
  constructor(timers: Timers, nowMs: () => number, options: NameResolverOptions = {}) {
    this.#timers = timers
    this.#nowMs = nowMs
    this.#hosts = options.hosts ?? watch('/etc/hosts', parseHosts, nowMs)
    this.#conf = options.conf ?? watch('/etc/resolv.conf', parseResolvConf, nowMs)
    this.#places = new QuestionPlaces(nowMs, { ...defaultPlaces, ...options.places })
  }

  /** At least one address, or it rejects with a NameError. */
  async resolve(tenantId: string, hostname: string): Promise<Addresses> {
    const name = hostname.toLowerCase()
    const fixed = findHost(this.#hosts(), name.endsWith('.') ? name.slice(0, -1) : name)
    if (fixed !== null) return fixed
    const found = this.#known(name) ?? this.#waiting.get(`${tenantId} ${name}`) ?? this.#ask(tenantId, name)
    return rotate(await found, this.#turn++)
  }

  /** Ends the questions under way, with an error. */
  [Symbol.dispose](): void {
    this.#isClosed = true
    for (const { cancel } of this.#questions) cancel()
  }

  /** Null: it has to be asked for. */
  #known(name: string): Promise<Addresses> | null {
    const remembered = this.#remembered.get(name)
    if (remembered === undefined || remembered.untilMs <= this.#nowMs())
      return this.#underWay.get(name) ?? null
    return remembered.addresses === null
      ? Promise.reject(remembered.error)
      : Promise.resolve(remembered.addresses)
  }

  #ask(tenantId: string, name: string): Promise<Addresses> {
    const key = `${tenantId} ${name}`
    const { promise, resolve, reject } = Promise.withResolvers<Addresses>()
    const refuse = (why: string) => {
      this.#waiting.delete(key)
      reject(new NameError('EAI_AGAIN', why))
    }
    this.#waiting.set(key, promise)
    this.#places.enter(tenantId, {
      start: async () => {
        if (this.#isClosed) return refuse('the server stops')
        this.#waiting.delete(key)
        // While it waited, another tenant may have asked.
        const known = this.#known(name)
        if (known !== null) return resolve(known)
        await this.#start(name, resolve)
      },
      refuse: () => refuse(`too many names are being looked up, so ${name} was not`),
    })
    return promise
  }

  #start(name: string, resolve: (addresses: Promise<Addresses>) => void): Promise<unknown> {
    const question = askName({ timers: this.#timers, conf: this.#conf() }, name)
    const { answer, settled } = question
    this.#questions.add(question)
    void settled.then(() => this.#questions.delete(question))
    const addresses = answer.then(
      (found) => this.#remember(name, found),
      (error) => this.#rememberFailure(name, error as NameError),
    )
    this.#underWay.set(name, addresses)
    resolve(addresses)
    return settled
  }

  #remember(name: string, { addresses, ttlSeconds }: NameAnswer): Addresses {
    const keptMs = Math.max(answerMsMin, Math.min(ttlSeconds * 1_000, answerMsMax))
    this.#end(name, { addresses, error: null, untilMs: this.#nowMs() + keptMs })
    return addresses
  }

  #rememberFailure(name: string, error: NameError): never {
    this.#end(name, { addresses: null, error, untilMs: this.#nowMs() + failureMs })
    throw error
  }

  #end(name: string, remembered: Remembered): void {
    this.#underWay.delete(name)
    this.#remembered.set(name, remembered)
    this.#remembered.prune()
  }
}

/** Each address of a family is the first in its turn: a name server spreads load that way, and a remembered answer must not end that. */
function rotate(addresses: Addresses, turn: number): Addresses {
  if (addresses.length < 2) return addresses
  return [4, 6].flatMap((family) => {
    const ofFamily = addresses.filter((one) => one.family === family)
    const first = turn % Math.max(1, ofFamily.length)
    return [...ofFamily.slice(first), ...ofFamily.slice(0, first)]
  })
}

function watch<T>(path: string, parse: (text: string) => T, nowMs: () => number): () => T {
  const file = new WatchedFile(path, parse, nowMs)
  return () => file.read()
}
