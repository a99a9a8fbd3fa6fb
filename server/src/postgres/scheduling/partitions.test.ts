import { testPartitions } from '../../../test/conformance/scheduling/partitions.ts'
import { testOnStores } from '../../../test/conformance/stores.ts'

testOnStores(testPartitions)
