// Bugs that the simulation must find. Each is a mistake that one of us could make in one line of code that the
// simulation runs: the decisions, the loops, and the memory store.
import type { PlantedBug } from './planted-bug.ts'

export const BUGS: readonly PlantedBug[] = [
  {
    name: 'slot not unique',
    file: '../testing/memory-store/slots.ts',
    find: "if (job.slots.has(slot)) return 'already_recorded'",
    replace: "if (job.slots.has(slot) && item.skip !== null) return 'already_recorded'",
    wrong: 'a slot that already has an execution gets a second one',
  },
  {
    name: 'fires while paused',
    file: '../testing/memory-store/slots.ts',
    find: "if (job?.cursor.version !== item.version || job.cursor.status !== 'ACTIVE') return 'stale'",
    replace: "if (job === undefined) return 'stale'",
    wrong:
      'a fire compares neither version nor status: an edited, paused or deleted job fires from a stale copy',
  },
  {
    name: 'cursor moves without its slot',
    file: '../testing/memory-store/slots.ts',
    find: "if (item.dueAt > this.#store.now()) return 'early'",
    replace:
      "if (item.dueAt > this.#store.now() - 5) { this.#move(job.cursor, item, 'already_recorded'); return 'already_recorded' }",
    wrong: 'a fire that is a moment too early moves the cursor without writing the slot',
  },
  {
    name: 'fires early',
    file: '../testing/memory-store/slots.ts',
    find: "if (item.dueAt > this.#store.now()) return 'early'",
    replace: '',
    wrong: 'the due time is not compared with the clock of the database',
  },
  {
    name: 'late plan made twice',
    file: '../testing/memory-store/slots.ts',
    find: 'if (to > decidedTo && from <= known) behind.add(jobId)',
    replace: '',
    wrong:
      'a plan for late slots is written although another scheduler has decided some of them in the meantime',
  },
  {
    name: 'slot on time skipped by a catch-up',
    file: '../testing/memory-store/slots.ts',
    find: 'job.owed !== null && job.joined < joinedMax',
    replace: 'false',
    wrong: 'a slot that comes on time while its job catches up under FIRE_ALL is skipped for overlap',
  },
  {
    name: 'result without a fence',
    file: '../testing/memory-store/queue.ts',
    find: 'if (row?.workerId !== workerId || row.fence !== fence) {',
    replace: 'if (row === undefined) {',
    wrong: 'the result of a worker that was declared dead is recorded for its successor',
  },
  {
    name: 'success after a cancel',
    file: '../testing/memory-store/settle.ts',
    find: 'if (row.cancelMessage !== null) {',
    replace: "if (row.cancelMessage !== null && ending.kind !== 'ended') {",
    wrong: 'an execution whose cancel was acknowledged ends as succeeded',
  },
  {
    name: 'hand-back spends an attempt',
    file: '../testing/memory-store/settle.ts',
    find: "store.changeLive(row, { ...atRest, state: 'ready', attempt: row.attempt - 1, host: waitsFor, lane })",
    replace: "store.changeLive(row, { ...atRest, state: 'ready', host: waitsFor, lane })",
    wrong: 'an execution that is handed back unstarted has used up an attempt number',
  },
  {
    name: 'reclaim forgets one',
    file: '../testing/memory-store/reclaim.ts',
    find: 'for (const row of [...lease.live]) {',
    replace: 'for (const row of [...lease.live].slice(1)) {',
    wrong: 'one execution of a dead worker stays with it for ever',
  },
  {
    name: 'lease watch not restarted',
    file: 'domain/queue/lease-watch.ts',
    find: 'const unbroken = sinceLookMs >= 0 && sinceLookMs <= this.#lookMsMax',
    replace: 'const unbroken = sinceLookMs >= 0',
    wrong: 'after an outage of the store, live workers are declared dead before they can beat',
  },
  {
    name: 'lease shorter than a beat',
    file: 'domain/queue/worker.ts',
    find: 'export const workerLeaseMs = 10_000',
    replace: 'export const workerLeaseMs = 2_500',
    wrong: 'a healthy worker is declared dead between two beats',
  },
  {
    name: 'retry with a different key',
    file: 'worker/executors/http.ts',
    find: "'x-idempotency-key': held.idempotencyKey ?? idempotencyKeyOf(kind, { jobId, executionId, slot }),",
    replace:
      "'x-idempotency-key': held.idempotencyKey ?? idempotencyKeyOf(kind, { jobId, executionId, slot }) + (attempt > 1 ? attempt : ''),",
    wrong: 'a retry carries another idempotency key, so the target takes it for a new execution',
  },
  {
    name: 'Retry-After ignored',
    file: 'domain/queue/retry.ts',
    find: 'return Math.round(Math.max(delayMs, Math.min(retryAfterMs ?? 0, retryAfterMsMax)))',
    replace: 'return Math.round(delayMs)',
    wrong: 'a retry does not wait for the time in the Retry-After header',
  },
  {
    name: 'limit not counted',
    file: 'domain/queue/release.ts',
    find: 'let free = (job.concurrencyLimit ?? Number.POSITIVE_INFINITY) - job.underWay',
    replace: 'let free = job.concurrencyLimit ?? Number.POSITIVE_INFINITY',
    wrong: 'running executions do not count against concurrency_limit',
  },
  {
    name: 'key limit off by one',
    file: 'domain/queue/release.ts',
    find: 'if (held >= limit) return false',
    replace: 'if (held > limit) return false',
    wrong: 'a concurrency key is held by one execution more than its limit',
  },
  {
    name: 'overlap not seen in batches',
    file: '../testing/memory-store/store.ts',
    find: 'if (owed !== null || batched.size > 0 || this.runRoots.has(jobId)) return true',
    replace: 'if (owed !== null || this.runRoots.has(jobId)) return true',
    wrong: 'a slot fires although the execution before it still waits in a batch',
  },
  {
    name: 'catch-up uncapped',
    file: 'domain/scheduling/misfire.ts',
    find: 'FIRE_ONCE: 1,',
    replace: 'FIRE_ONCE: 1_000,',
    wrong: 'all missed slots run although the policy allows one',
  },
  {
    name: 'fan-in released twice',
    file: 'domain/graphs/graph-run.ts',
    find: "if (states[nodeIndex] !== 'blocked' || news.isCancelled) continue",
    replace:
      "if ((states[nodeIndex] !== 'blocked' && states[nodeIndex] !== 'going') || news.isCancelled) continue",
    wrong: 'a node is released again when its second parent ends',
  },
  {
    name: 'autumn hour runs twice',
    file: 'domain/schedule/zone-search.ts',
    find: '} else if (!pattern.bothPasses && local < start + before) local = start + before',
    replace: '}',
    wrong: 'when the clocks go back, a daily slot fires a second time',
  },
  {
    name: 'spring hour is lost',
    file: 'domain/schedule/zone-search.ts',
    find: 'if (second === start && pattern.runAfterGap) {',
    replace: 'if (second < start && pattern.runAfterGap) {',
    wrong: 'when the clocks go forward, a slot within the gap never fires',
  },
]
