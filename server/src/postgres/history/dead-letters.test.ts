import { testDeadLetters } from '../../../test/conformance/history/dead-letters.ts'
import { testDeadLettersCare } from '../../../test/conformance/history/dead-letters-care.ts'
import { testDeadLetterClusters } from '../../../test/conformance/history/dead-letters-clusters.ts'
import { testOnStores } from '../../../test/conformance/stores.ts'

testOnStores(testDeadLetters)
testOnStores(testDeadLettersCare)
testOnStores(testDeadLetterClusters)
