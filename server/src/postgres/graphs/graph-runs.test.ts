import { testGraphRuns } from '../../../test/conformance/graphs/graph-runs.ts'
import { testRunBoundary } from '../../../test/conformance/graphs/graph-runs-boundary.ts'
import { testCancelRuns } from '../../../test/conformance/graphs/graph-runs-cancel.ts'
import { testRunDeadlock } from '../../../test/conformance/graphs/graph-runs-deadlock.ts'
import { testRunEdits } from '../../../test/conformance/graphs/graph-runs-edits.ts'
import { testRunFairness } from '../../../test/conformance/graphs/graph-runs-fair.ts'
import { testRunLists } from '../../../test/conformance/graphs/graph-runs-list.ts'
import { testParentsOfResumed } from '../../../test/conformance/graphs/graph-runs-parents.ts'
import { testResume } from '../../../test/conformance/graphs/graph-runs-resume.ts'
import { testRunRoots } from '../../../test/conformance/graphs/graph-runs-roots.ts'
import { testOnStores } from '../../../test/conformance/stores.ts'

testOnStores(testGraphRuns)
testOnStores(testRunRoots)
testOnStores(testCancelRuns)
testOnStores(testResume)
testOnStores(testParentsOfResumed)
testOnStores(testRunEdits)
testOnStores(testRunLists)
testOnStores(testRunBoundary)
testOnStores(testRunDeadlock)
testOnStores(testRunFairness)
