// Helpers for writing the lists of demo jobs.
import type { JobRequest } from '@carillon/contract/job.ts'

/** How a job went before there was this server. */
export interface Past {
  /** For how long it has been there. Default 30. */
  days?: number
  /** Of a usual attempt. */
  middleMs: number
  /** Share of attempts that fail and are tried again. Default 0. */
  failing?: number
  /** Since so many hours nothing succeeds any more: every slot becomes a dead letter. */
  brokenHours?: number
  error?: PastError
  /** The answer of an attempt that succeeded. */
  answer?: string
}

export interface PastError {
  type: 'HTTP_ERROR' | 'TIMEOUT' | 'HANDLER_ERROR' | 'CONNECTION_REFUSED'
  status?: number
  message: string
}

/** A job as the API takes it, and the fields that only the demo knows. */
export interface DemoJob extends Omit<JobRequest, 'depends_on'> {
  key: string
  /** Which tenant it belongs to. Default: the first one. */
  tenant?: 'second'
  /** Keys of jobs that it runs after. */
  after?: readonly string[]
  past?: Past
  /** Runs once at once. */
  trigger?: true
  pause?: string
}

export const secondTenant = { name: 'Northwind', tier: 'pro' }
export const calendar = {
  name: 'public-holidays',
  entries: [{ date: '2026-12-25' }, { date: '2026-12-26' }, { date: '2027-01-01' }],
}

export interface DemoPlace {
  /** Where the API answers. */
  url: string
  /** Programs that shell jobs may run here. */
  shellCommands: readonly string[]
  /** A few hours ahead, as RFC 3339. */
  soon: string
}

export const unavailable: PastError = {
  type: 'HTTP_ERROR',
  status: 503,
  message: 'Callback returned 503 Service Unavailable',
}

export function job(key: string, name: string, rest: Omit<DemoJob, 'key' | 'name'>): DemoJob {
  return { key, name, ...rest }
}

export function handler(name: string): JobRequest['execution'] {
  return { type: 'worker', handler: name, timeout_seconds: 120 }
}

export function retries(count: number): NonNullable<JobRequest['retry_policy']> {
  return { max_retries: count, backoff: 'EXPONENTIAL', initial_delay_ms: 500 }
}

/** Calls to our own /echo, which is as slow and as wrong as it is asked to be. */
export function callsTo(url: string): (query?: string, payload?: object) => JobRequest['execution'] {
  return (query = '', payload) => ({
    callback_url: `${url}/echo${query}`,
    timeout_seconds: 30,
    ...(payload && { payload }),
  })
}
