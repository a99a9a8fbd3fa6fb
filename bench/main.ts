// npm run bench -- NAME [--quick] [--json]: one measurement against a server of its own; every file below that
// exports `run` is one.
const names = ['first-job', 'accuracy', 'http', 'idle', 'api', 'sdk', 'graph']
const name = process.argv[2]
if (name === undefined || !names.includes(name)) {
  console.error(`usage: npm run bench -- ${names.join(' | ')} [--quick] [--json]`)
  process.exit(2)
}
const { run } = (await import(`./${name}.ts`)) as { run: (options: { quick: boolean }) => Promise<void> }
await run({ quick: process.argv.includes('--quick') })
