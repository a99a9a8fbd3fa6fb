// The stored ports as one simulated server reaches them. One wrapper for every method of every port, so that no call is
// forgotten: how it is made is for the caller to say, see `link.ts`.
import type { Attempts } from '../../src/ports/attempts.ts'
import type { DeadLetters } from '../../src/ports/dead-letters.ts'
import type { GraphRuns, RunSteps } from '../../src/ports/graph-runs.ts'
import type { Jobs } from '../../src/ports/jobs.ts'
import type { Leases } from '../../src/ports/leases.ts'
import type { Logs } from '../../src/ports/logs.ts'
import type { Maintenance } from '../../src/ports/maintenance.ts'
import type { Operations } from '../../src/ports/operations.ts'
import type { Partitions } from '../../src/ports/partitions.ts'
import type { Queue } from '../../src/ports/queue.ts'
import type { Requests } from '../../src/ports/requests.ts'
import type { Secrets } from '../../src/ports/secrets.ts'
import type { Slots } from '../../src/ports/slots.ts'

export interface PostgresPorts {
  slots: Slots
  queue: Queue
  attempts: Attempts
  logs: Logs
  secrets: Secrets
  maintenance: Maintenance
  leases: Leases
  partitions: Partitions
  runSteps: RunSteps
  graphRuns: GraphRuns
  jobs: Jobs
  deadLetters: DeadLetters
  operations: Operations
  requests: Requests
}

export type Method = (...args: unknown[]) => Promise<unknown>
/** Makes a call of a method by its own rules. */
export type Caller = (name: string, method: Method, args: unknown[]) => Promise<unknown>

export function wrapPorts(ports: PostgresPorts, call: Caller): PostgresPorts {
  return {
    slots: wrapPort('slots', ports.slots, call),
    queue: wrapPort('queue', ports.queue, call),
    attempts: wrapPort('attempts', ports.attempts, call),
    logs: wrapPort('logs', ports.logs, call),
    secrets: wrapPort('secrets', ports.secrets, call),
    maintenance: wrapPort('maintenance', ports.maintenance, call),
    leases: wrapPort('leases', ports.leases, call),
    partitions: wrapPort('partitions', ports.partitions, call),
    runSteps: wrapPort('runSteps', ports.runSteps, call),
    graphRuns: wrapPort('graphRuns', ports.graphRuns, call),
    jobs: wrapPort('jobs', ports.jobs, call),
    deadLetters: wrapPort('deadLetters', ports.deadLetters, call),
    operations: wrapPort('operations', ports.operations, call),
    requests: wrapPort('requests', ports.requests, call),
  }
}

function wrapPort<T extends object>(name: string, port: T, call: Caller): T {
  const wrapped = new Map<string | symbol, unknown>()
  return new Proxy(port, {
    get(target, key) {
      if (!wrapped.has(key)) {
        const value: unknown = Reflect.get(target, key, target)
        const method = typeof value === 'function' ? (value.bind(target) as Method) : null
        const full = `${name}.${String(key)}`
        wrapped.set(key, method === null ? value : (...args: unknown[]) => call(full, method, args))
      }
      return wrapped.get(key)
    },
  })
}
