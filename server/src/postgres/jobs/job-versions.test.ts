import { testJobVersions } from '../../../test/conformance/jobs/job-versions.ts'
import { testOnStores } from '../../../test/conformance/stores.ts'

testOnStores(testJobVersions)
