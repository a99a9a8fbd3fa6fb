import { testTenants } from '../../../test/conformance/access/tenants.ts'
import { testOnStores } from '../../../test/conformance/stores.ts'

testOnStores(testTenants)
