import { testDeleteMany } from '../../../test/conformance/queue/delete-many.ts'
import { testOnStores } from '../../../test/conformance/stores.ts'

testOnStores(testDeleteMany)
