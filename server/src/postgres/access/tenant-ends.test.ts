import { testTenantEnds } from '../../../test/conformance/access/tenant-ends.ts'
import { testTenantUndo } from '../../../test/conformance/access/tenant-undo.ts'
import { testOnStores } from '../../../test/conformance/stores.ts'

testOnStores(testTenantEnds)
testOnStores(testTenantUndo)
