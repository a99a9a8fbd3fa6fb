import { testOperations } from '../../../test/conformance/jobs/operations.ts'
import { testOnStores } from '../../../test/conformance/stores.ts'

testOnStores(testOperations)
