// An example request in four languages. Each can be pasted: it takes the key and the ids from environment variables, and
// needs nothing but the language.
import type { ExampleRequest, Piece } from './docs-page-request.ts'

export interface Example {
  /** In classes and in the memory of the browser. */
  language: 'sh' | 'ts' | 'python' | 'go'
  title: string
  code: string
}

export function examplesOf(request: ExampleRequest): Example[] {
  return [
    { language: 'sh', title: 'curl', code: curlOf(request) },
    { language: 'ts', title: 'TypeScript', code: typescriptOf(request) },
    { language: 'python', title: 'Python', code: pythonOf(request) },
    { language: 'go', title: 'Go', code: goOf(request) },
  ]
}

function curlOf({ method, url, headers, body, isStream }: ExampleRequest): string {
  const lines = [
    shellText(url),
    ...headers.map(([name, value]) => `-H ${shellText([{ text: `${name}: ` }, ...value])}`),
  ]
  if (body !== null)
    lines.push(
      'json' in body
        ? `-d ${shellQuote(JSON.stringify(body.json, null, 2))}`
        : `--data-binary "@$${body.file}"`,
    )
  const isImplied = method === 'GET' || (method === 'POST' && body !== null)
  return `curl${isStream ? ' -N' : ''}${isImplied ? '' : ` -X ${method}`} ${lines.join(' \\\n  ')}`
}

/** In double quotes where the shell has to put in a variable, else in single ones; an address always in double ones. */
function shellText(pieces: readonly Piece[]): string {
  const [first] = pieces
  const isAddress = first !== undefined && 'text' in first && first.text.startsWith('http')
  if (!isAddress && pieces.every((piece) => 'text' in piece))
    return shellQuote(pieces.map(({ text }) => text).join(''))
  const inner = pieces.map((piece) =>
    'text' in piece ? piece.text.replace(/["\\$`]/g, '\\$&') : `$${piece.variable}`,
  )
  return `"${inner.join('')}"`
}

function shellQuote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

function typescriptOf({ method, url, headers, body, isStream }: ExampleRequest): string {
  const options: string[] = []
  if (method !== 'GET') options.push(`method: '${method}',`)
  if (headers.length > 0)
    options.push(
      'headers: {',
      ...headers.map(([name, value]) => `  ${typescriptName(name)}: ${typescriptText(value)},`),
      '},',
    )
  if (body !== null)
    options.push(
      'json' in body
        ? `body: JSON.stringify(${JSON.stringify(body.json, null, 2)}),`
        : `body: await readFile(process.env.${body.file}!),`,
    )
  const lines = options.length === 0 ? ')' : `, {\n${indented(options.join('\n'), '  ')}\n})`
  return [
    ...(body !== null && 'file' in body ? ["import { readFile } from 'node:fs/promises'", ''] : []),
    `const answer = await fetch(${typescriptText(url)}${lines}`,
    isStream
      ? 'for await (const chunk of answer.body!) process.stdout.write(chunk)'
      : 'console.log(answer.status, await answer.text())',
  ].join('\n')
}

function typescriptName(name: string): string {
  return /^[A-Za-z]+$/.test(name) ? name : `'${name}'`
}

function typescriptText(pieces: readonly Piece[]): string {
  if (pieces.every((piece) => 'text' in piece)) {
    const text = pieces.map((piece) => piece.text).join('')
    return /['\\\n]/.test(text) ? JSON.stringify(text) : `'${text}'`
  }
  const inner = pieces.map((piece) =>
    'text' in piece ? piece.text.replace(/[`\\]|\$\{/g, '\\$&') : `\${process.env.${piece.variable}}`,
  )
  return `\`${inner.join('')}\``
}

function pythonOf({ method, url, headers, body }: ExampleRequest): string {
  const usesVariables = [url, ...headers.map(([, value]) => value)]
    .flat()
    .some((piece) => 'variable' in piece)
  const modules = [
    ...(body !== null && 'json' in body ? ['json'] : []),
    ...(usesVariables || (body !== null && 'file' in body) ? ['os'] : []),
    'urllib.request',
  ]
  const parts = [`${pythonText(url)},`]
  if (method !== 'GET') parts.push(`method="${method}",`)
  if (headers.length > 0)
    parts.push('headers={', ...headers.map(([name, value]) => `    "${name}": ${pythonText(value)},`), '},')
  if (body !== null)
    parts.push(
      'json' in body
        ? `data=json.dumps(${pythonValue(body.json)}).encode(),`
        : `data=open(os.environ["${body.file}"], "rb").read(),`,
    )
  return [
    ...modules.map((one) => `import ${one}`),
    '',
    'request = urllib.request.Request(',
    indented(parts.join('\n'), '    '),
    ')',
    'with urllib.request.urlopen(request) as answer:',
    '    print(answer.status)',
    '    for line in answer:',
    '        print(line.decode(), end="")',
  ].join('\n')
}

function pythonText(pieces: readonly Piece[]): string {
  if (pieces.every((piece) => 'text' in piece))
    return JSON.stringify(pieces.map((piece) => piece.text).join(''))
  const inner = pieces.map((piece) =>
    'text' in piece
      ? JSON.stringify(piece.text).slice(1, -1).replace(/[{}]/g, '$&$&')
      : `{os.environ['${piece.variable}']}`,
  )
  return `f"${inner.join('')}"`
}

/** JSON is Python but for its three words. */
function pythonValue(value: unknown, indent = ''): string {
  const inner = `${indent}    `
  if (value === null || value === undefined) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (typeof value !== 'object') return JSON.stringify(value)
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}']
  const items = Array.isArray(value)
    ? value.map((item) => pythonValue(item, inner))
    : Object.entries(value).map(([name, item]) => `${JSON.stringify(name)}: ${pythonValue(item, inner)}`)
  return items.length === 0
    ? `${open}${close}`
    : `${open}\n${items.map((item) => `${inner}${item},\n`).join('')}${indent}${close}`
}

function goOf({ method, url, headers, body }: ExampleRequest): string {
  const imports = ['fmt', 'io', 'net/http', 'os', ...(body !== null && 'json' in body ? ['strings'] : [])]
  const lines: string[] = []
  if (body !== null && 'json' in body)
    lines.push(`body := strings.NewReader(${goRaw(JSON.stringify(body.json, null, 2))})`)
  if (body !== null && 'file' in body)
    lines.push(`body, err := os.Open(os.Getenv("${body.file}"))`, 'if err != nil {', '\tpanic(err)', '}')
  const given = body === null ? 'nil' : 'body'
  lines.push(`request, err := http.NewRequest("${method}", ${goText(url)}, ${given})`)
  lines.push('if err != nil {', '\tpanic(err)', '}')
  for (const [name, value] of headers) lines.push(`request.Header.Set("${name}", ${goText(value)})`)
  lines.push('answer, err := http.DefaultClient.Do(request)', 'if err != nil {', '\tpanic(err)', '}')
  lines.push('defer answer.Body.Close()', 'fmt.Println(answer.Status)', 'io.Copy(os.Stdout, answer.Body)')
  return `package main\n\nimport (\n${imports.map((one) => `\t"${one}"\n`).join('')})\n\nfunc main() {\n${lines
    // The lines of a raw string stay where they are.
    .map((line) => `\t${line}`)
    .join('\n')}\n}`
}

/** A raw string cannot hold a backquote, and JSON can do without one. */
function goRaw(json: string): string {
  return `\`${json.replaceAll('`', '\\u0060')}\``
}

function goText(pieces: readonly Piece[]): string {
  return pieces
    .map((piece) => ('text' in piece ? JSON.stringify(piece.text) : `os.Getenv("${piece.variable}")`))
    .join('+')
}

function indented(text: string, by: string): string {
  return text
    .split('\n')
    .map((line) => `${by}${line}`)
    .join('\n')
}
