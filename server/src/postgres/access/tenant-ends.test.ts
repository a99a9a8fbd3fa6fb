import { testTenantEnds } from '../../../test/conformance/access/tenant-ends.ts'
import { testOnStores } from '../../../test/conformance/stores.ts'

testOnStores(testTenantEnds)
