// How the dashboard is built: hashed files without inline code (the content security policy allows none), each with
// its .br and .gz beside it, so that the server compresses nothing while it serves.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'

const target = process.env['CARILLON_URL'] ?? 'http://127.0.0.1:7420'
const key = process.env['CARILLON_API_KEY']

function compress(): Plugin {
  let dir = ''
  return {
    name: 'compress',
    apply: 'build',
    configResolved(config) {
      dir = resolve(config.root, config.build.outDir)
    },
    closeBundle() {
      for (const name of readdirSync(dir, { recursive: true, encoding: 'utf8' })) {
        if (!/\.(js|css|html|svg)$/.test(name)) continue
        const file = join(dir, name)
        const bytes = readFileSync(file)
        writeFileSync(`${file}.gz`, gzipSync(bytes, { level: 9 }))
        const params = {
          [constants.BROTLI_PARAM_QUALITY]: 11,
          [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
        }
        writeFileSync(`${file}.br`, brotliCompressSync(bytes, { params }))
      }
    },
  }
}

export default defineConfig({
  root: import.meta.dirname,
  publicDir: false,
  plugins: [react(), compress()],
  build: { target: 'es2023', assetsInlineLimit: 0, modulePreload: { polyfill: false }, sourcemap: false },
  server: {
    // For work on the dashboard itself: `npx vite dashboard`, with CARILLON_API_KEY to be logged in at once.
    proxy: Object.fromEntries(
      ['/api', '/readyz', '/openapi.json', '/docs'].map((path) => [
        path,
        { target, ...(key !== undefined && { headers: { authorization: `Bearer ${key}` } }) },
      ]),
    ),
  },
})
