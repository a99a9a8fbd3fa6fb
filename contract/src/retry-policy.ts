// How often an execution is tried again, and how long after: as it is sent, and as it is shown.

import { BACKOFFS, retryDelayMsMax } from './constants.ts'
import { oneOf, oneOfWithDefault, optionalInteger, strictObject } from './shapes.ts'
import * as Type from './type.ts'

/** Defaults of omitted fields. */
export const retryDefaults = {
  max_retries: 3,
  backoff: 'EXPONENTIAL',
  initial_delay_ms: 1_000,
  max_delay_ms: 60_000,
} as const

const maxRetries = Type.Integer({
  minimum: 0,
  maximum: 100,
  default: retryDefaults.max_retries,
  description: 'Attempts after the first one.',
})
const backoff = oneOfWithDefault(
  BACKOFFS,
  retryDefaults.backoff,
  'Growth of the delay: constant, linear in the attempts, or doubling.',
)
const initialDelayMs = Type.Integer({
  minimum: 1,
  maximum: retryDelayMsMax,
  default: retryDefaults.initial_delay_ms,
  description: 'The delay after the first attempt, times 0.75 to 1.25.',
})
const maxDelayMs = Type.Integer({ minimum: 1, maximum: retryDelayMsMax, default: retryDefaults.max_delay_ms })
const autoRedrive = Type.Integer({
  minimum: 1,
  maximum: 2_592_000,
  description:
    'A dead letter is redriven automatically, once, after this time. Left out: never automatically.',
})

export const RetryPolicyRequest = strictObject({
  max_retries: Type.Optional(maxRetries),
  backoff: Type.Optional(backoff),
  initial_delay_ms: Type.Optional(initialDelayMs),
  max_delay_ms: Type.Optional(maxDelayMs),
  auto_redrive_after_seconds: Type.Optional(autoRedrive),
})

export const RetryPolicy = strictObject({
  max_retries: Type.Integer(),
  backoff: oneOf(BACKOFFS),
  initial_delay_ms: Type.Integer(),
  max_delay_ms: Type.Integer(),
  auto_redrive_after_seconds: optionalInteger(),
})
