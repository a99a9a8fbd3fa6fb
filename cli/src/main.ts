// The `carillon` command as a process: its streams, its signals, its exit code.
import { run } from './run.ts'

const interrupt = new AbortController()
const { stdin, stdout, stderr, env, argv } = process

// The reader of our output may stop reading: `carillon jobs list | head`.
stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
  process.exit(0)
})
// The server stops by itself, in its own order.
if (argv[2] !== 'start') {
  let asked = 0
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      if (++asked > 1) process.exit(130)
      interrupt.abort()
    })
  }
}

process.exitCode = await run(argv.slice(2), { stdin, stdout, stderr, env, signal: interrupt.signal })
// The channel to our launcher would keep the process alive, and so would a connection that is kept open.
if (process.connected) process.disconnect?.()
