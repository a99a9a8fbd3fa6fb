// Events of a worker, for logs and metrics.

export type WorkerEvent =
  | { type: 'registered'; workerId: string; handlers: readonly string[] }
  /** A job with a schedule is in the API as this program defines it. */
  | { type: 'job-put'; key: string; jobId: string }
  | { type: 'started'; executionId: string; handler: string; attempt: number }
  | {
      type: 'ended'
      executionId: string
      handler: string
      attempt: number
      /** As it is reported; lost: it is not reported, because it is not this worker's any more. */
      status: 'succeeded' | 'failed' | 'released' | 'lost'
      durationMs: number
      message: string | null
    }
  /** The server refused the result of an attempt: it timed out, runs elsewhere, or has another result on record. */
  | { type: 'refused'; executionId: string; handler: string; attempt: number; reason: string }
  /** A handler that was told to stop has not; its place is given to others. */
  | { type: 'abandoned'; executionId: string; handler: string; attempt: number }
  /** The API does not answer, or refuses; the worker tries on. Told once until it answers again. */
  | { type: 'unreachable'; error: Error }
  | { type: 'reachable' }
  /** The server took this worker for dead. Everything it ran is stopped, and it registers anew. */
  | { type: 'lost'; workerId: string; running: number }
  | { type: 'draining'; running: number }
  | { type: 'stopped' }

export type WorkerListener = (event: WorkerEvent) => void

/** Logs events of interest to a person on stderr: successes are not logged. */
export function logEvent(event: WorkerEvent): void {
  const text = describe(event)
  if (text !== null) console.error(`carillon worker: ${text}`)
}

function describe(event: WorkerEvent): string | null {
  switch (event.type) {
    case 'registered':
      return `${event.workerId} runs ${event.handlers.join(', ')}`
    case 'ended':
      if (event.status === 'succeeded') return null
      return `${event.handler} ${event.executionId}, attempt ${event.attempt}: ${event.status}${event.message === null ? '' : `: ${event.message}`}`
    case 'refused':
      return `${event.handler} ${event.executionId}, attempt ${event.attempt}: the result does not count: ${event.reason}`
    case 'abandoned':
      return `${event.handler} ${event.executionId}, attempt ${event.attempt}: does not stop`
    case 'unreachable':
      return `${event.error.message}. Trying on`
    case 'reachable':
      return 'the API answers again'
    case 'lost':
      return `the server took this worker for dead; stopped ${event.running}, registering anew`
    case 'draining':
      return `stopping, ${event.running} still running`
    case 'stopped':
      return 'stopped'
    default:
      return null
  }
}
