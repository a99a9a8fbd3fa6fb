import { testApiKeys } from '../../../test/conformance/access/api-keys.ts'
import { testOnStores } from '../../../test/conformance/stores.ts'

testOnStores(testApiKeys)
