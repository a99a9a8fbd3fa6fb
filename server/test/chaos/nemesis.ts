// Strikes the faults of a run one after the other, in the order its seed draws, now and then two at once, with calm in
// between. The first round has every kind once, so that a run of some length misses none.
import { realTimers } from '../../src/lib/time/timers.ts'
import { Dice } from '../fuzz/dice.ts'
import { KINDS, type Kind, type KindName } from './faults.ts'
import type { Rig } from './rig.ts'

export interface NemesisOptions {
  seed: number
  kinds: readonly KindName[]
  forMs: number
  /** So many strikes come, though it takes longer. */
  strikesMin: number
}

/** How often a second fault comes with the first. */
const pairShare = 0.35
const atOnceMax = { background: 3, lasting: 1 } as const
/** How long a takeover takes can be told when nothing else was wrong shortly before. */
const calmMs = 5_200
const kills: readonly KindName[] = ['kill', 'kill-role']
/** Nothing comes with these: a takeover is to be timed, or many servers are down as it is. */
const solitary: readonly KindName[] = [...kills, 'rolling-restart']

/** Returns when every fault is over. */
export async function runNemesis(
  rig: Rig,
  { seed, kinds, forMs, strikesMin }: NemesisOptions,
): Promise<void> {
  const dice = new Dice(seed)
  const planned = plan(dice, kinds)
  const endsMs = performance.now() + forMs
  const background = new Set<Promise<void>>()
  const lasting = new Set<Promise<void>>()
  let struck = 0
  /** When the last one was over. */
  let overMs = performance.now()

  const strike = (name: KindName): Promise<void> => {
    // Dice of its own: the draws of a fault change nothing for concurrent faults.
    const own = new Dice(seed * 10_007 + struck++)
    const { strike: act } = KINDS[name] as Kind
    return act(rig, own).catch((error: Error) => {
      rig.complaints.push(`the fault ${name} could not be done: ${error.stack}`)
    })
  }

  /** Faults that could not strike when they were drawn. */
  const postponed: KindName[] = []
  const mayStrike = (name: KindName): boolean => {
    const { place } = KINDS[name]
    // A fault that lasts for minutes is not disturbed by faults that would end it.
    if (place === 'database') return lasting.size === 0
    if (place === 'alone') return lasting.size === 0 && background.size === 0
    // Otherwise a fault that waits to be alone would never strike.
    return place === 'server' || !postponed.some((one) => KINDS[one].place === 'alone')
  }
  const next = async (): Promise<KindName> => {
    while (true) {
      const waiting = postponed.findIndex(mayStrike)
      if (waiting >= 0) return postponed.splice(waiting, 1)[0]!
      for (let drawn = 0; drawn < kinds.length; drawn++) {
        const name = planned.next().value
        if (mayStrike(name)) return name
        postponed.push(name)
      }
      await Promise.race([...background, ...lasting])
    }
  }

  while ((performance.now() < endsMs || struck < strikesMin) && !rig.signal.aborted) {
    const name = await next()
    const { place } = KINDS[name]
    if (place === 'background' || place === 'lasting') {
      const others = place === 'lasting' ? lasting : background
      if (others.size >= atOnceMax[place]) await Promise.race(others)
      const going = strike(name).finally(() => others.delete(going))
      others.add(going)
      await realTimers.wait(drawCalmMs(dice), rig.signal)
      continue
    }
    if (kills.includes(name))
      await realTimers.wait(Math.max(0, overMs + calmMs - performance.now()), rig.signal)
    const withOther = place === 'server' && !solitary.includes(name) && dice.chance(pairShare)
    const other = withOther ? dice.pick(pairs(kinds)) : null
    await Promise.all([strike(name), ...(other === null ? [] : [strike(other)])])
    overMs = performance.now()
    await realTimers.wait(drawCalmMs(dice), rig.signal)
  }
  rig.end()
  await Promise.all([...background, ...lasting])
}

function pairs(kinds: readonly KindName[]): KindName[] {
  return kinds.filter((name) => KINDS[name].place === 'server' && !solitary.includes(name))
}

/** Mostly short; now and then long enough to see that all is as before. */
function drawCalmMs(dice: Dice): number {
  return dice.chance(0.85) ? dice.between(500, 2_500) : dice.between(5_000, 9_000)
}

/** Every kind once, then as often as its weight says, without end. */
function* plan(dice: Dice, kinds: readonly KindName[]): Generator<KindName, never> {
  yield* dice.shuffle(kinds)
  let again = kinds.flatMap((name) => Array<KindName>(KINDS[name].weight - 1).fill(name))
  while (true) {
    yield* dice.shuffle(again)
    again = kinds.flatMap((name) => Array<KindName>(KINDS[name].weight).fill(name))
  }
}
