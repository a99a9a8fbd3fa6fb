import { testTriggersClaimed } from '../../../test/conformance/jobs/triggers-claimed.ts'
import { testTriggersMany } from '../../../test/conformance/jobs/triggers-many.ts'
import { testFastPath } from '../../../test/conformance/queue/fast-path.ts'
import { testQueue } from '../../../test/conformance/queue/queue.ts'
import { testQueueAwaiting } from '../../../test/conformance/queue/queue-awaiting.ts'
import { testQueueCancel } from '../../../test/conformance/queue/queue-cancel.ts'
import { testQueueCapacity } from '../../../test/conformance/queue/queue-capacity.ts'
import { testQueueDivide } from '../../../test/conformance/queue/queue-divide.ts'
import { testFinish } from '../../../test/conformance/queue/queue-finish.ts'
import { testQueueLeft } from '../../../test/conformance/queue/queue-left.ts'
import { testOwnLane } from '../../../test/conformance/queue/queue-own-lane.ts'
import { testQueueRoutes } from '../../../test/conformance/queue/queue-routes.ts'
import { testUsage } from '../../../test/conformance/queue/queue-usage.ts'
import { testOnStores } from '../../../test/conformance/stores.ts'

testOnStores(testQueue)
testOnStores(testQueueAwaiting)
testOnStores(testQueueCancel)
testOnStores(testQueueCapacity)
testOnStores(testFinish)
testOnStores(testUsage)
testOnStores(testOwnLane)
testOnStores(testFastPath)
testOnStores(testQueueDivide)
testOnStores(testQueueLeft)
testOnStores(testQueueRoutes)
testOnStores(testTriggersMany)
testOnStores(testTriggersClaimed)
