import { testPlain } from '../../test/conformance/plain.ts'
import { testQueue } from '../../test/conformance/queue.ts'
import { testQueueAwaiting } from '../../test/conformance/queue-awaiting.ts'
import { testQueueCancel } from '../../test/conformance/queue-cancel.ts'
import { testQueueDivide } from '../../test/conformance/queue-divide.ts'
import { testFinish } from '../../test/conformance/queue-finish.ts'
import { testQueueLeft } from '../../test/conformance/queue-left.ts'
import { testQueueRoutes } from '../../test/conformance/queue-routes.ts'
import { testOnStores } from '../../test/conformance/stores.ts'
import { testTriggersMany } from '../../test/conformance/triggers-many.ts'
import { testTriggersTaken } from '../../test/conformance/triggers-taken.ts'

testOnStores(testQueue)
testOnStores(testQueueAwaiting)
testOnStores(testQueueCancel)
testOnStores(testFinish)
testOnStores(testPlain)
testOnStores(testQueueDivide)
testOnStores(testQueueLeft)
testOnStores(testQueueRoutes)
testOnStores(testTriggersMany)
testOnStores(testTriggersTaken)
