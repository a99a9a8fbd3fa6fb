import { testSettled } from '../../../test/conformance/queue/settled.ts'
import { testOnStores } from '../../../test/conformance/stores.ts'

testOnStores(testSettled)
