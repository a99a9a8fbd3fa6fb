// The files of a dashboard build, read into memory once: a few hundred kilobytes. Without a build there is a page that
// says why.
import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import type { Dashboard, DashboardFile } from '../api/http/dashboard.ts'

const types: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
  '.json': 'application/json; charset=utf-8',
  '.webmanifest': 'application/manifest+json; charset=utf-8',
  '.txt': 'text/plain; charset=utf-8',
}

/** Throws when there is no page in it. */
export async function readDashboard(dir: string): Promise<Dashboard> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true })
  const names = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(dir.length + 1))
  const files = new Map<string, DashboardFile>()
  for (const name of names.filter((one) => extname(one) in types)) {
    const variant = (ending: string) =>
      names.includes(name + ending) ? readFile(join(dir, name + ending)) : null
    const plain = await readFile(join(dir, name))
    files.set(`/${name}`, {
      ...fileOf(plain, types[extname(name)]!),
      br: await variant('.br'),
      gzip: await variant('.gz'),
      immutable: name.startsWith('assets/'),
    })
  }
  if (!files.has('/index.html')) throw new Error(`${dir} has no index.html`)
  return { files }
}

/** A page that says why there is no dashboard. The API does not need one. */
export function withoutDashboard(reason: string): Dashboard {
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Carillon</title>
<link rel="icon" href="data:,">
</head>
<body>
<h1>Carillon</h1>
<p>The server runs. The dashboard is not there: ${escapeHtml(reason)}</p>
<p>The API is at <code>/api/v1</code>; <a href="/docs">its reference</a> is here.</p>
</body>
</html>
`
  return { files: new Map([['/index.html', fileOf(Buffer.from(html), types['.html']!)]]) }
}

function fileOf(plain: Buffer, type: string): DashboardFile {
  const etag = createHash('sha256').update(plain).digest('base64url').slice(0, 22)
  return { type, etag, plain, br: null, gzip: null, immutable: false }
}

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}
