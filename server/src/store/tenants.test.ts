import { testOnStores } from '../../test/conformance/stores.ts'
import { testTenants } from '../../test/conformance/tenants.ts'

testOnStores(testTenants)
