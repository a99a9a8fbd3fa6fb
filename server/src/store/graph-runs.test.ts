import { testGraphRuns } from '../../test/conformance/graph-runs.ts'
import { testRunBoundary } from '../../test/conformance/graph-runs-boundary.ts'
import { testCancelRuns } from '../../test/conformance/graph-runs-cancel.ts'
import { testRunEdits } from '../../test/conformance/graph-runs-edits.ts'
import { testRunLists } from '../../test/conformance/graph-runs-list.ts'
import { testParentsOfResumed } from '../../test/conformance/graph-runs-parents.ts'
import { testResume } from '../../test/conformance/graph-runs-resume.ts'
import { testRunRoots } from '../../test/conformance/graph-runs-roots.ts'
import { testOnStores } from '../../test/conformance/stores.ts'

testOnStores(testGraphRuns)
testOnStores(testRunRoots)
testOnStores(testCancelRuns)
testOnStores(testResume)
testOnStores(testParentsOfResumed)
testOnStores(testRunEdits)
testOnStores(testRunLists)
testOnStores(testRunBoundary)
