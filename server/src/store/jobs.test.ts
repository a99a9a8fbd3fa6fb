import { testJobs } from '../../test/conformance/jobs.ts'
import { testBackfill } from '../../test/conformance/jobs-backfill.ts'
import { testJobsChange } from '../../test/conformance/jobs-change.ts'
import { testJobsGraph } from '../../test/conformance/jobs-graph.ts'
import { testJobsGraphSlots } from '../../test/conformance/jobs-graph-slots.ts'
import { testJobsList } from '../../test/conformance/jobs-list.ts'
import { testJobsSlots } from '../../test/conformance/jobs-slots.ts'
import { testOnStores } from '../../test/conformance/stores.ts'

testOnStores(testJobs)
testOnStores(testJobsChange)
testOnStores(testJobsSlots)
testOnStores(testJobsGraph)
testOnStores(testJobsGraphSlots)
testOnStores(testJobsList)
testOnStores(testBackfill)
