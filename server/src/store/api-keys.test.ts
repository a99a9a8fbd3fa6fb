import { testApiKeys } from '../../test/conformance/api-keys.ts'
import { testOnStores } from '../../test/conformance/stores.ts'

testOnStores(testApiKeys)
