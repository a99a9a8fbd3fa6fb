// Loads `node:test` without its async hook, which makes every promise of a test process two to three times as dear
// (ageing.slow.test.ts: 13 s of CPU with it, 6.5 s without). The hook only finds the test that an uncaught error
// belongs to: without it the error is printed with its stack, and fails the file instead of the test.
import hooks from 'node:async_hooks'

const { createHook } = hooks
const inert: ReturnType<typeof createHook> = { enable: () => inert, disable: () => inert }
hooks.createHook = () => inert
await import('node:test')
hooks.createHook = createHook

const show = (error: unknown): void => console.error(error)
process.on('uncaughtExceptionMonitor', show)
process.on('unhandledRejection', show)
