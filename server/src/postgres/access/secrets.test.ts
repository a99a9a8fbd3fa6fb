import { testSecrets } from '../../../test/conformance/access/secrets.ts'
import { testOnStores } from '../../../test/conformance/stores.ts'

testOnStores(testSecrets)
