import { testRequests } from '../../test/conformance/requests.ts'
import { testOnStores } from '../../test/conformance/stores.ts'

testOnStores(testRequests)
