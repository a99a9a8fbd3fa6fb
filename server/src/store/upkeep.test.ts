import { testReleaseCancel } from '../../test/conformance/release-cancel.ts'
import { testReleaseLimits } from '../../test/conformance/release-limits.ts'
import { testOnStores } from '../../test/conformance/stores.ts'
import { testUpkeep } from '../../test/conformance/upkeep.ts'
import { testRelease } from '../../test/conformance/upkeep-release.ts'

testOnStores(testUpkeep)
testOnStores(testRelease)
testOnStores(testReleaseLimits)
testOnStores(testReleaseCancel)
