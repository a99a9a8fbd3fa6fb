// The thread of a single simulation: see `runApart`.
import { parentPort, workerData } from 'node:worker_threads'
import { type Report, type RunOptions, run } from './run.ts'

const { sim, verdict } = await run(workerData as RunOptions)
const { seed, rates } = sim.options
const report: Report = { seed, rates, verdict }
parentPort!.postMessage(report)
