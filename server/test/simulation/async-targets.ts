// Targets that answer 202 and say later how it went: most in time, some when their time is over, some never; some say it
// twice, some before their 202 has arrived, and some give signs of life in between.
import { type EpochMs, epochMs } from '../../src/lib/time/epoch.ts'
import { Unavailable } from '../../src/lib/unavailable.ts'
import type { HttpRequest } from '../../src/ports/http.ts'
import type { Random } from '../../src/ports/random.ts'
import type { ScriptedAnswer } from '../virtual-world.ts'
import type { Called } from './api.ts'
import { drawMs } from './faults.ts'
import type { Simulation } from './world.ts'

/** A target's report on an attempt. */
export interface Word {
  executionId: string
  attempt: number
  status: 'succeeded' | 'failed'
  /** When it was said first. */
  at: EpochMs
  /** Null: no answer came, however often it was said. */
  answer: 'taken' | 'over' | null
  answeredAt: EpochMs | null
}

const answerMsMax = 150
/** How often a word is said until it is answered. */
const triesMax = 30
/** Two words do not overtake each other. */
const apartMs = 2_000

export function answerLater(sim: Simulation): (request: HttpRequest) => ScriptedAnswer {
  const random = sim.randomOf('async targets')
  return ({ headers, timeoutMs }) => {
    const afterMs = drawMs(random, 1, answerMsMax)
    const called = { executionId: headers['x-execution-id']!, token: headers['x-carillon-token']! }
    const attempt = Number(headers['x-attempt-number'])
    const saysAfterMs = drawWordMs(random, { afterMs, timeoutMs })
    const later = (ms: number, happen: () => void) => void sim.world.timers.schedule(ms, happen)
    const say = (status: Word['status']) => {
      const at = epochMs(sim.world.clock.databaseNow())
      const word: Word = {
        executionId: called.executionId,
        attempt,
        status,
        at,
        answer: null,
        answeredAt: null,
      }
      sim.words.push(word)
      void insist(sim, random, async () => {
        word.answer = await sim.api.complete(called, status)
        word.answeredAt = epochMs(sim.world.clock.databaseNow())
      })
    }
    if (random.next() < 0.3)
      later(drawMs(random, 0, saysAfterMs ?? timeoutMs), () => note(sim, random, called))
    if (saysAfterMs !== null) {
      const status = random.next() < 0.8 ? 'succeeded' : 'failed'
      later(saysAfterMs, () => say(status))
      const second = random.next() < 0.5 ? 'succeeded' : 'failed'
      if (random.next() < 0.2) later(saysAfterMs + drawMs(random, apartMs, 20_000), () => say(second))
    }
    return { status: 202, headers: { 'x-carillon-async': 'true' }, afterMs }
  }
}

/** How long after the call it says how it went; null: it never does. */
function drawWordMs(
  random: Random,
  { afterMs, timeoutMs }: { afterMs: number; timeoutMs: number },
): number | null {
  const luck = random.next()
  if (luck < 0.2) return drawMs(random, 0, afterMs)
  if (luck < 0.75) return afterMs + Math.floor(random.next() ** 3 * timeoutMs * 0.8)
  if (luck < 0.85) return timeoutMs + drawMs(random, -1_500, 1_500)
  return luck < 0.92 ? timeoutMs + drawMs(random, 1_000, 60_000) : null
}

function note({ api, world }: Simulation, random: Random, called: Called): void {
  void insist({ world }, random, () => api.note(called, random.next()))
}

/** Until it is answered: the store may be away, and any answer may be lost. */
export async function insist(
  { world }: { world: Simulation['world'] },
  random: Random,
  ask: () => Promise<unknown>,
): Promise<void> {
  for (let tries = 0; tries < triesMax; tries++) {
    try {
      await ask()
      return
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error
      await world.timers.wait(drawMs(random, 1_000, 5_000))
    }
  }
}
