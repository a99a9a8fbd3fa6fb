import { testOnStores } from '../../test/conformance/stores.ts'
import { testUpkeep } from '../../test/conformance/upkeep.ts'
import { testRelease } from '../../test/conformance/upkeep-release.ts'

testOnStores(testUpkeep)
testOnStores(testRelease)
