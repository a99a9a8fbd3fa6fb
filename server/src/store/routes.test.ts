import { testRoutes } from '../../test/conformance/routes.ts'
import { testOnStores } from '../../test/conformance/stores.ts'

testOnStores(testRoutes)
