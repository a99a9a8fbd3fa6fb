import { testOperations } from '../../test/conformance/operations.ts'
import { testOnStores } from '../../test/conformance/stores.ts'

testOnStores(testOperations)
