import { testQueue } from '../../test/conformance/queue.ts'
import { testFinish } from '../../test/conformance/queue-finish.ts'
import { testOnStores } from '../../test/conformance/stores.ts'

testOnStores(testQueue)
testOnStores(testFinish)
