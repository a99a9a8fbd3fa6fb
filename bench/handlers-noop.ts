// The handler that `bench handlers` runs with `carillon start --handlers`.
import { defineJob } from '../sdk/src/define-job.ts'

export const noop = defineJob({ key: 'noop', run() {} })
