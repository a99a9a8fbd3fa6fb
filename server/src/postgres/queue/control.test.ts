import { testCancel } from '../../../test/conformance/queue/control.ts'
import { testCancelRunning } from '../../../test/conformance/queue/control-cancel.ts'
import { testRetry } from '../../../test/conformance/queue/control-retry.ts'
import { testOnStores } from '../../../test/conformance/stores.ts'

testOnStores(testCancel)
testOnStores(testRetry)
testOnStores(testCancelRunning)
