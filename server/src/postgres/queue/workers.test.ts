import { testRunners } from '../../../test/conformance/queue/runners.ts'
import { testWorkers } from '../../../test/conformance/queue/workers.ts'
import { testOnStores } from '../../../test/conformance/stores.ts'

testOnStores(testWorkers)
testOnStores(testRunners)
