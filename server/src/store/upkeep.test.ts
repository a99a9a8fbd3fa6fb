import { testReleaseCancel } from '../../test/conformance/release-cancel.ts'
import { testReleaseLimits } from '../../test/conformance/release-limits.ts'
import { testOnStores } from '../../test/conformance/stores.ts'
import { testUpkeep } from '../../test/conformance/upkeep.ts'
import { testForced } from '../../test/conformance/upkeep-forced.ts'
import { testForgotten } from '../../test/conformance/upkeep-forgotten.ts'
import { testOverdue } from '../../test/conformance/upkeep-overdue.ts'
import { testRelease } from '../../test/conformance/upkeep-release.ts'
import { testSuspects } from '../../test/conformance/upkeep-suspects.ts'

testOnStores(testReleaseCancel)
testOnStores(testReleaseLimits)
testOnStores(testUpkeep)
testOnStores(testOverdue)
testOnStores(testForced)
testOnStores(testForgotten)
testOnStores(testRelease)
testOnStores(testSuspects)
