import { testHistoryProcesses } from '../../../test/conformance/history/history-processes.ts'
import { testOnStores } from '../../../test/conformance/stores.ts'

testOnStores(testHistoryProcesses)
