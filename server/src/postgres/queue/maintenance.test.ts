import { testMaintenance } from '../../../test/conformance/queue/maintenance.ts'
import { testForced } from '../../../test/conformance/queue/maintenance-forced.ts'
import { testOverdue } from '../../../test/conformance/queue/maintenance-overdue.ts'
import { testPruned } from '../../../test/conformance/queue/maintenance-pruned.ts'
import { testRelease } from '../../../test/conformance/queue/maintenance-release.ts'
import { testSuspects } from '../../../test/conformance/queue/maintenance-suspects.ts'
import { testReleaseCancel } from '../../../test/conformance/queue/release-cancel.ts'
import { testReleaseLimits } from '../../../test/conformance/queue/release-limits.ts'
import { testOnStores } from '../../../test/conformance/stores.ts'

testOnStores(testReleaseCancel)
testOnStores(testReleaseLimits)
testOnStores(testMaintenance)
testOnStores(testOverdue)
testOnStores(testForced)
testOnStores(testPruned)
testOnStores(testRelease)
testOnStores(testSuspects)
