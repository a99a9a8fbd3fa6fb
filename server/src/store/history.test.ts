import { testHistory } from '../../test/conformance/history.ts'
import { testOnStores } from '../../test/conformance/stores.ts'

testOnStores(testHistory)
