import { testPlans } from '../../../test/conformance/scheduling/planned-jobs.ts'
import { testOnStores } from '../../../test/conformance/stores.ts'

testOnStores(testPlans)
