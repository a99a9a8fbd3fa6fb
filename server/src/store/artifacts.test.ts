import { testArtifacts } from '../../test/conformance/artifacts.ts'
import { testOnStores } from '../../test/conformance/stores.ts'

testOnStores(testArtifacts)
