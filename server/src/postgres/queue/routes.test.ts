import { testRoutes } from '../../../test/conformance/queue/routes.ts'
import { testOnStores } from '../../../test/conformance/stores.ts'

testOnStores(testRoutes)
