import { testArtifacts } from '../../../test/conformance/jobs/artifacts.ts'
import { testOnStores } from '../../../test/conformance/stores.ts'

testOnStores(testArtifacts)
