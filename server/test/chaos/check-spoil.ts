// How good evidence is spoilt, for the tests of the checker.
import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { type Scene, second, start } from './check-scene.ts'

/** One thing that is wrong, and the invariant that it breaks. */
export interface Broken {
  what: string
  invariant: string
  spoil: (scene: Scene) => void
}

export const own = (scene: Scene, jobId: string) => scene.attempts.filter((row) => row.jobId === jobId)
/** The execution of a slot of a job, by its number of seconds. */
export const ofSlot = (scene: Scene, jobId: string, slot: number) =>
  scene.attempts.filter((row) => row.jobId === jobId && row.slot === start + slot * second)
export const remove = <T>(list: T[], isIt: (one: T) => boolean) => {
  const index = list.findIndex(isIt)
  assert(index >= 0, 'there is such a row')
  return list.splice(index, 1)[0]!
}
export const cut = (scene: Scene, executionId: string) => {
  const kept = scene.receiver.filter(
    (line) => !(line.what === 'arrived' && line.call.executionId === executionId),
  )
  scene.receiver.splice(0, scene.receiver.length, ...kept)
}

export function keyOfExecution(jobId: string, executionId: string): string {
  return hash('sha256', `${jobId}:${executionId}`).slice(0, 32)
}
