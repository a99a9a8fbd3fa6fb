import { testLogs } from '../../test/conformance/logs.ts'
import { testOnStores } from '../../test/conformance/stores.ts'

testOnStores(testLogs)
