import { testOnStores } from '../../test/conformance/stores.ts'
import { testWorkers } from '../../test/conformance/workers.ts'

testOnStores(testWorkers)
