import { testExecutions } from '../../../test/conformance/history/executions.ts'
import { testExecutionCount } from '../../../test/conformance/history/executions-count.ts'
import { testExecutionsOfWorker } from '../../../test/conformance/history/executions-of-worker.ts'
import { testExecutionSearch } from '../../../test/conformance/history/executions-search.ts'
import { testUnderWay } from '../../../test/conformance/history/executions-under-way.ts'
import { testOnStores } from '../../../test/conformance/stores.ts'

testOnStores(testExecutions)
testOnStores(testExecutionCount)
testOnStores(testExecutionSearch)
testOnStores(testExecutionsOfWorker)
testOnStores(testUnderWay)
