import { testJobs } from '../../test/conformance/jobs.ts'
import { testOnStores } from '../../test/conformance/stores.ts'

testOnStores(testJobs)
