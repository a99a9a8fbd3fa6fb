// One question: the addresses of a name, IPv4 and IPv6, from the name servers. Over sockets of the event loop: getaddrinfo holds
// one of four threads for as long as a server is silent.
import type { LookupAddress } from 'node:dns'
import { Resolver } from 'node:dns/promises'
import type { Timer, Timers } from '../../ports/timers.ts'
import { candidatesOf, type ResolvConf } from './resolv-conf.ts'

export interface NameAnswer {
  /** IPv4 first. */
  addresses: readonly LookupAddress[]
  ttlSeconds: number
}

export interface Question {
  /** Rejects with a NameError. */
  answer: Promise<NameAnswer>
  /** Nothing of it is under way any more. Never rejects. */
  settled: Promise<unknown>
  /** Ends it at once, with an error. */
  cancel: () => void
}

/** `code` as getaddrinfo has it: ENOTFOUND, or EAI_AGAIN when asking again may help. */
export class NameError extends Error {
  readonly code: 'ENOTFOUND' | 'EAI_AGAIN'

  constructor(code: 'ENOTFOUND' | 'EAI_AGAIN', message: string) {
    super(message)
    this.code = code
  }
}

/** For one answer of one server. */
const answerMsMax = 2_000
const tries = 2
/** With IPv4 addresses at hand, IPv6 addresses are not waited for longer. Some servers are silent about them. */
const ipv6Ms = 100
/** A connection tries one after the other; nobody gets to the seventeenth. */
const addressesMax = 16

/** `hostname`: in lower case; it is searched for as `conf` says. */
export function askName(deps: { timers: Timers; conf: ResolvConf }, hostname: string): Question {
  const under: Promise<unknown>[] = []
  const resolvers: Resolver[] = []
  const answer = search({ ...deps, under, resolvers }, hostname)
  const settled = answer.then(
    () => Promise.all(under),
    () => Promise.all(under),
  )
  const cancel = () => {
    for (const resolver of resolvers) resolver.cancel()
  }
  return { answer, settled, cancel }
}

interface SearchDeps {
  timers: Timers
  conf: ResolvConf
  /** Questions to servers are added, under way or answered. */
  under: Promise<unknown>[]
  resolvers: Resolver[]
}

// Each name has a resolver of its own (55 µs). One that has had fast answers waits for less than a second for the next
// ones, so names with quick servers would let slower ones of other tenants fail; and it asks everything from one port.
function createResolver({ servers }: ResolvConf): Resolver {
  const resolver = new Resolver({ timeout: answerMsMax, maxTimeout: answerMsMax, tries })
  if (servers.length > 0) resolver.setServers(servers)
  return resolver
}

async function search({ timers, conf, under, resolvers }: SearchDeps, hostname: string): Promise<NameAnswer> {
  let failure: string | null = null
  for (const name of candidatesOf(hostname, conf)) {
    const resolver = createResolver(conf)
    resolvers.push(resolver)
    const families = [askFamily(resolver, name, 4), askFamily(resolver, name, 6)] as const
    under.push(...families)
    const answers = await firstAnswers(timers, families)
    const records = answers.flatMap(({ records }) => records)
    // Half an answer is asked for again soon: a machine may reach the other family only.
    if (records.length > 0) return toAnswer(records, answers.length === families.length)
    const codes = answers.flatMap(({ code }) => (code === null ? [] : [code]))
    failure ??= codes[0] ?? null
    // A server that says it cannot tell may know the next name; one that is silent will be silent again.
    if (codes.some((code) => code !== 'ESERVFAIL' && code !== 'EREFUSED')) break
  }
  if (failure === null) throw new NameError('ENOTFOUND', `the name ${hostname} has no address`)
  throw new NameError('EAI_AGAIN', `the name servers do not answer for ${hostname} (${failure})`)
}

interface FamilyAnswer {
  records: { address: string; family: 4 | 6; ttl: number }[]
  /** Null: the server has answered, if only that there is no such address. */
  code: string | null
}

async function askFamily(resolver: Resolver, name: string, family: 4 | 6): Promise<FamilyAnswer> {
  try {
    const found = await (family === 4
      ? resolver.resolve4(name, { ttl: true })
      : resolver.resolve6(name, { ttl: true }))
    return { records: found.map(({ address, ttl }) => ({ address, family, ttl })), code: null }
  } catch (error) {
    const { code = 'EUNKNOWN' } = error as NodeJS.ErrnoException
    // No such name, no such address, or a name that cannot be asked for.
    return { records: [], code: ['ENOTFOUND', 'ENODATA', 'EBADNAME'].includes(code) ? null : code }
  }
}

/** Of both, or of IPv4 alone. */
function firstAnswers(
  timers: Timers,
  families: readonly [Promise<FamilyAnswer>, Promise<FamilyAnswer>],
): Promise<FamilyAnswer[]> {
  return new Promise((resolve) => {
    const answers: FamilyAnswer[] = []
    let timer: Timer | null = null
    const take = (answer: FamilyAnswer) => {
      answers.push(answer)
      if (answers.length === families.length) {
        timer?.cancel()
        resolve(answers)
      }
    }
    const [ipv4, ipv6] = families
    void ipv6.then(take)
    void ipv4.then((answer) => {
      take(answer)
      if (answers.length < families.length && answer.records.length > 0)
        timer = timers.schedule(ipv6Ms, () => resolve(answers))
    })
  })
}

function toAnswer(records: FamilyAnswer['records'], isWhole: boolean): NameAnswer {
  const kept = records.toSorted((one, other) => one.family - other.family).slice(0, addressesMax)
  return {
    addresses: kept.map(({ address, family }) => ({ address, family })),
    ttlSeconds: isWhole ? Math.min(...kept.map(({ ttl }) => ttl)) : 0,
  }
}
