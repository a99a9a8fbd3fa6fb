import { testCancel } from '../../test/conformance/control.ts'
import { testCancelRunning } from '../../test/conformance/control-cancel.ts'
import { testRetry } from '../../test/conformance/control-retry.ts'
import { testOnStores } from '../../test/conformance/stores.ts'

testOnStores(testCancel)
testOnStores(testRetry)
testOnStores(testCancelRunning)
