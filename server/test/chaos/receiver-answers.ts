// How the targets of a run behave, by the path that they are called at. The same execution and attempt always get the
// same answer, from any caller and however often.
import { hash } from 'node:crypto'

export interface Answer {
  afterMs: number
  /** Null: the connection is cut instead; 'never': it is left open. */
  status: number | null | 'never'
  headers?: Readonly<Record<string, string>>
  /** For a target that answered 202: its later reports, in order. */
  says?: readonly { afterMs: number; status: 'succeeded' | 'failed' }[]
}

export interface AnswerTo {
  executionId: string
  attempt: number
  /** The parameter that the path carries beyond its name. */
  ms: number
}

/** The Retry-After that a busy target asks for. */
export const retryAfterSeconds = 2

type Behave = (to: AnswerTo, luck: (what: string) => number) => Answer

const TARGETS = {
  quick: () => ({ afterMs: 0, status: 200 }),
  /** Any time up to the requested one. */
  slow: ({ ms }, luck) => ({ afterMs: Math.floor(luck('time') * ms), status: 200 }),
  /** Exactly the requested time. */
  long: ({ ms }) => ({ afterMs: ms, status: 200 }),
  flaky: (_to, luck) => {
    const fails = luck('fails') < 0.3
    const status = luck('how') < 0.7 ? 503 : null
    return { afterMs: Math.floor(luck('time') * 80), status: fails ? status : 200 }
  },
  broken: () => ({ afterMs: 5, status: 500 }),
  wrong: () => ({ afterMs: 0, status: 404 }),
  busy: ({ attempt }, luck) =>
    attempt === 1 && luck('busy') < 0.5
      ? { afterMs: 0, status: 429, headers: { 'retry-after': String(retryAfterSeconds) } }
      : { afterMs: 10, status: 200 },
  reset: (_to, luck) => ({ afterMs: Math.floor(luck('time') * 50), status: luck('cut') < 0.4 ? null : 200 }),
  hung: (_to, luck) => ({ afterMs: 0, status: luck('hangs') < 0.5 ? 'never' : 200 }),
  later: (_to, luck) => {
    const taken = { afterMs: Math.floor(luck('time') * 100), status: 202, headers: asyncHeaders }
    if (luck('silent') < 0.1) return taken
    const first = luck('first') < 0.85 ? ('succeeded' as const) : ('failed' as const)
    // Some speak before their 202 has arrived, some twice, and the second time otherwise.
    const says = [{ afterMs: Math.floor(luck('says') ** 2 * 4_000), status: first }]
    if (luck('twice') < 0.2)
      says.push({ afterMs: 5_000 + Math.floor(luck('second') * 3_000), status: 'failed' })
    return { ...taken, says }
  },
} satisfies Record<string, Behave>

export type Target = keyof typeof TARGETS

const asyncHeaders = { 'x-carillon-async': 'true' }

/** Null: there is no such target. */
export function answerTo(name: string, to: AnswerTo): Answer | null {
  const behave: Behave | undefined = Object.hasOwn(TARGETS, name) ? TARGETS[name as Target] : undefined
  return behave?.(to, (what) => luckOf(to, what)) ?? null
}

/** From 0 up to, not including, 1. */
function luckOf({ executionId, attempt }: AnswerTo, what: string): number {
  return Number.parseInt(hash('sha256', `${executionId} ${attempt} ${what}`).slice(0, 8), 16) / 2 ** 32
}
