import { testPruneVersions } from '../../../test/conformance/jobs/prune-versions.ts'
import { testOnStores } from '../../../test/conformance/stores.ts'

testOnStores(testPruneVersions)
