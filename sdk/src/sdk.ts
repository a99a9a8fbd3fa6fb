// The exports of `@carillon/sdk`; `@carillon/sdk/testing` has the test kit, `@carillon/sdk/client` the client alone.
export type { CallOptions, PostOptions, WriteOptions } from './call.ts'
export { CarillonError, ConnectionError, type ErrorCode } from './carillon-error.ts'
export { type Client, type ClientOptions, createClient } from './client.ts'
export {
  type AnyJob,
  type DefinedJob,
  defineJob,
  type JobContext,
  type JobLog,
  type JobOptions,
  type JobParent,
  type JobReservation,
  type RetryOptions,
} from './define-job.ts'
export type { DependencyRule, JobDependency } from './dependencies.ts'
export type { Duration } from './duration.ts'
export { NonRetriableError, RetryAfterError } from './job-errors.ts'
export type { List } from './list.ts'
export type { StandardSchema } from './standard-schema.ts'
export {
  SignatureError,
  type SignatureErrorCode,
  type SignatureOptions,
  verifySignature,
} from './verify-signature.ts'
export { createWorker, type Worker, type WorkerOptions } from './worker.ts'
export type { WorkerEvent, WorkerListener } from './worker-events.ts'
