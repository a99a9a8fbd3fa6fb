import { testApiProcesses } from '../../../test/conformance/access/api-processes.ts'
import { testOnStores } from '../../../test/conformance/stores.ts'

testOnStores(testApiProcesses)
