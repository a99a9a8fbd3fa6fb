#!/usr/bin/env node
// The `carillon` command under any Node: goes on in this process on Node 26, else in the Node 26 that came with
// the install. Plain JavaScript, because an older Node has to read it.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import module, { createRequire } from 'node:module'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { nodePackageName } from './node-package.js'

const main = join(dirname(fileURLToPath(import.meta.url)), '..', 'src', 'main.ts')

// A server makes much that lives for milliseconds: with more room for it V8 collects less often. As `npm start` has it.
const flags = process.argv[2] === 'start' ? ['--max-semi-space-size=64'] : []
const missing = flags.filter((flag) => !process.execArgv.includes(flag))

// A short command spends most of its time reading its code; compiled code of the last time halves that. Kept at home and not
// where everybody writes, because what is read back is run.
const cacheDir =
  process.argv[2] === 'start'
    ? null
    : join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'carillon')

if (Number.parseInt(process.versions.node, 10) >= 26) {
  // V8 takes it only at the start, so we start again in place; a channel that somebody holds on us would not outlive that.
  if (missing.length > 0 && process.execve !== undefined && !process.connected) {
    const { execPath, execArgv, argv } = process
    process.execve(execPath, [execPath, ...execArgv, ...missing, ...argv.slice(1)])
  }
  if (cacheDir !== null) module.enableCompileCache?.(cacheDir)
  await import('../src/main.ts')
} else {
  const node = findNode()
  if (node === null) {
    console.error(
      `carillon: needs Node 26, and ${nodePackageName()} is not installed. Run npm ci in the checkout.`,
    )
    process.exit(1)
  }
  // The channel tells the child when we are gone, even by kill -9.
  const child = spawn(node, [...flags, main, ...process.argv.slice(2)], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: cacheDir === null ? process.env : { ...process.env, NODE_COMPILE_CACHE: cacheDir },
  })
  const signals = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])
  for (const signal of signals) process.on(signal, () => child.kill(signal))
  child.on('exit', (code) => {
    process.exitCode = code ?? 1
    if (child.connected) child.disconnect()
  })
}

/** @returns {string | null} */
function findNode() {
  try {
    const manifest = createRequire(import.meta.url).resolve(`${nodePackageName()}/package.json`)
    const node = join(dirname(manifest), 'bin', 'node')
    return existsSync(node) ? node : null
  } catch {
    return null
  }
}
