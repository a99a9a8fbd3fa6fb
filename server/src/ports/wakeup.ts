// Hints that work may exist: safe to lose, safe to repeat. Polling is the guarantee.
import { sharedLane } from '../domain/queue/lane.ts'

/** queue: something to claim. shared: some of that in the shared lane. changes: a job is new or changed. waiting: something may be released. retries: a retry was planned. operations: one was asked for. cancels: a running execution was cancelled. keys: a signing key was changed. peers: a worker has registered. */
export const WAKEUP_TOPICS = [
  'queue',
  'shared',
  'changes',
  'waiting',
  'retries',
  'operations',
  'cancels',
  'keys',
  'peers',
] as const
export type WakeupTopic = (typeof WAKEUP_TOPICS)[number]

/** Topics of a new execution in this lane that a worker may wait for. */
export function queueTopics(lane: string): WakeupTopic[] {
  return lane === sharedLane ? ['queue', 'shared'] : ['queue']
}

export interface Wakeup {
  /** To be called after the commit. */
  send(topic: WakeupTopic): void
}

/** The receiving end of hints. */
export interface WakeupSource {
  on(topic: WakeupTopic, listener: () => void): void
}
