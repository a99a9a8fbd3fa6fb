import { testPartitions } from '../../test/conformance/partitions.ts'
import { testOnStores } from '../../test/conformance/stores.ts'

testOnStores(testPartitions)
