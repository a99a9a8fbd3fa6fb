import { testDeadLetters } from '../../test/conformance/dead-letters.ts'
import { testOnStores } from '../../test/conformance/stores.ts'

testOnStores(testDeadLetters)
