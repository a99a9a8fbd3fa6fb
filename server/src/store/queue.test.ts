import { testQueue } from '../../test/conformance/queue.ts'
import { testQueueCancel } from '../../test/conformance/queue-cancel.ts'
import { testFinish } from '../../test/conformance/queue-finish.ts'
import { testOnStores } from '../../test/conformance/stores.ts'

testOnStores(testQueue)
testOnStores(testFinish)
testOnStores(testQueueCancel)
