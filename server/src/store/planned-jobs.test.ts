import { testPlans } from '../../test/conformance/plans.ts'
import { testOnStores } from '../../test/conformance/stores.ts'

testOnStores(testPlans)
