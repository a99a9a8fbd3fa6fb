import { testLogs } from '../../../test/conformance/history/logs.ts'
import { testOnStores } from '../../../test/conformance/stores.ts'

testOnStores(testLogs)
