// npm run bench:idle [SECONDS]: what the whole process tree, PostgreSQL included, costs while nothing happens.
// Goal: below 2 % of one core.
import { makeDataDir, startCarillon } from './carillon.ts'
import { measureTree } from './process-tree.ts'

const seconds = Number(process.argv[2] ?? 60)
const settleS = 10
const wait = (s: number) => new Promise((resolve) => setTimeout(resolve, s * 1_000))

await using dataDir = await makeDataDir()
await using carillon = await startCarillon(dataDir.path)
console.log(`settling for ${settleS} s, then measuring for ${seconds} s …`)
await wait(settleS)
const before = measureTree(carillon.child.pid!)
await wait(seconds)
const after = measureTree(carillon.child.pid!)
const percent = (100 * (after.cpuSeconds - before.cpuSeconds)) / seconds
console.log(`idle CPU     ${percent.toFixed(2)} % of one core (goal: below 2 %)`)
console.log(`processes    ${after.processes}`)
console.log(`memory       ${after.memoryMb} MB resident, shared pages counted each time`)
