import { testSecrets } from '../../test/conformance/secrets.ts'
import { testOnStores } from '../../test/conformance/stores.ts'

testOnStores(testSecrets)
