import { testHistory } from '../../../test/conformance/history/history.ts'
import { testHistoryCount } from '../../../test/conformance/history/history-count.ts'
import { testHistorySearch } from '../../../test/conformance/history/history-search.ts'
import { testHistorySlots } from '../../../test/conformance/history/history-slots.ts'
import { testHistoryStats } from '../../../test/conformance/history/history-stats.ts'
import { testOnStores } from '../../../test/conformance/stores.ts'

testOnStores(testHistory)
testOnStores(testHistoryCount)
testOnStores(testHistorySearch)
testOnStores(testHistoryStats)
testOnStores(testHistorySlots)
