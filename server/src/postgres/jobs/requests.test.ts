import { testRequests } from '../../../test/conformance/jobs/requests.ts'
import { testOnStores } from '../../../test/conformance/stores.ts'

testOnStores(testRequests)
