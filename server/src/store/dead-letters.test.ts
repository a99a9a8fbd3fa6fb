import { testDeadLetters } from '../../test/conformance/dead-letters.ts'
import { testDeadLettersCare } from '../../test/conformance/dead-letters-care.ts'
import { testDeadLetterClusters } from '../../test/conformance/dead-letters-clusters.ts'
import { testOnStores } from '../../test/conformance/stores.ts'

testOnStores(testDeadLetters)
testOnStores(testDeadLettersCare)
testOnStores(testDeadLetterClusters)
