// What `bench handlers` runs by `carillon start --handlers`.
import { defineJob } from '../sdk/src/define-job.ts'

export const noop = defineJob({ key: 'noop', run() {} })
