import { testJobVersions } from '../../test/conformance/job-versions.ts'
import { testOnStores } from '../../test/conformance/stores.ts'

testOnStores(testJobVersions)
