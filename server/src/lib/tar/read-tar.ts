// The entries of a tar archive, one after the other, as POSIX (ustar, pax) and GNU tar write them. Knows nothing of
// where they go. Our own parser: the input comes from strangers, and anything unknown is refused.

export interface TarEntry {
  kind: 'file' | 'directory' | 'link' | 'hard link'
  /** As it stands there: not to be trusted. */
  path: string
  /** Of a link. */
  target: string
  executable: boolean
  /** To be read, if at all, before the next entry is asked for. */
  content: AsyncIterable<Buffer>
}

/** An error in the archive. The message continues after "The bundle". */
export class TarError extends Error {}

const blockBytes = 512
/** Limit of a long name, or of the pax data of an entry. */
const extensionBytesMax = 64 * 1024

const kinds: Record<string, TarEntry['kind']> = {
  '0': 'file',
  '\0': 'file',
  // Contiguous: a file, to everybody.
  '7': 'file',
  '1': 'hard link',
  '2': 'link',
  '5': 'directory',
}

interface Said {
  path?: string
  target?: string
  size?: number
}

export async function* readTar(stream: AsyncIterable<Buffer>, bytesMax: number): AsyncGenerator<TarEntry> {
  const bytes = new ByteReader(stream, bytesMax)
  let said: Said = {}
  for (;;) {
    const header = await bytes.take(blockBytes)
    if (header === null) return
    // Blocks of zeros end it. The rest is read too: gzip verifies completeness only at its end.
    if (header.every((byte) => byte === 0)) {
      await bytes.readOut()
      return
    }
    checkHeader(header)
    const type = String.fromCharCode(header[156]!)
    const size = said.size ?? readNumber(header.subarray(124, 136))
    if (type === 'g') await bytes.skip(padded(size))
    else if ('xLK'.includes(type)) said = { ...said, ...readExtension(type, await readWhole(bytes, size)) }
    else {
      const kind = kinds[type]
      if (kind === undefined)
        throw new TarError(`has an entry of a kind that is not taken: ${JSON.stringify(type)}`)
      const left = { bytes: kind === 'file' ? size : 0 }
      const path = said.path ?? pathOf(header)
      yield {
        // Before POSIX a directory was a file with a name that ends so.
        kind: kind === 'file' && path.endsWith('/') ? 'directory' : kind,
        path,
        target: said.target ?? textOf(header.subarray(157, 257)),
        executable: (readNumber(header.subarray(100, 108)) & 0o111) !== 0,
        content: readContent(bytes, left),
      }
      await bytes.skip(left.bytes + (kind === 'file' ? padded(size) - size : padded(size)))
      said = {}
    }
  }
}

async function* readContent(bytes: ByteReader, left: { bytes: number }): AsyncGenerator<Buffer> {
  while (left.bytes > 0) {
    const piece = await bytes.takeSome(left.bytes)
    left.bytes -= piece.length
    yield piece
  }
}

async function readWhole(bytes: ByteReader, size: number): Promise<Buffer> {
  if (size > extensionBytesMax) throw new TarError('has a name that is too long')
  const block = await bytes.take(padded(size))
  if (block === null) throw cutOff()
  return block.subarray(0, size)
}

function readExtension(type: string, content: Buffer): Said {
  if (type === 'L') return { path: textOf(content) }
  if (type === 'K') return { target: textOf(content) }
  const said: Said = {}
  // Records of the form `LENGTH KEY=VALUE\n`, where the length counts the whole record.
  for (let at = 0; at < content.length; ) {
    const space = content.indexOf(' ', at)
    const length = Number(content.toString('latin1', at, space))
    if (space === -1 || !Number.isInteger(length) || length <= space - at || at + length > content.length) {
      throw new TarError('has a header that cannot be read')
    }
    const record = content.toString('utf8', space + 1, at + length - 1)
    const [key, value] = [record.slice(0, record.indexOf('=')), record.slice(record.indexOf('=') + 1)]
    if (key === 'path') said.path = value
    if (key === 'linkpath') said.target = value
    if (key === 'size') said.size = checkSize(Number(value))
    if (key.startsWith('GNU.sparse')) throw new TarError('has a sparse file, which is not taken')
    at += length
  }
  return said
}

function checkHeader(header: Buffer): void {
  const stated = readNumber(header.subarray(148, 156))
  let sum = 0
  for (const [at, byte] of header.entries()) sum += at >= 148 && at < 156 ? 32 : byte
  if (sum !== stated) throw new TarError('is not a tar archive, or damaged')
}

function pathOf(header: Buffer): string {
  const name = textOf(header.subarray(0, 100))
  const isUstar = header.toString('latin1', 257, 263) === 'ustar\0'
  const prefix = isUstar ? textOf(header.subarray(345, 500)) : ''
  return prefix === '' ? name : `${prefix}/${name}`
}

function textOf(field: Buffer): string {
  const end = field.indexOf(0)
  return field.toString('utf8', 0, end === -1 ? field.length : end)
}

/** Octal; or, from GNU, binary, which is for numbers far too large for us. */
function readNumber(field: Buffer): number {
  const text = field
    .toString('latin1')
    .replace(/[\0 ]+$/, '')
    .trim()
  if (!/^[0-7]*$/.test(text)) throw new TarError('has a header that cannot be read')
  return checkSize(Number.parseInt(text === '' ? '0' : text, 8))
}

function checkSize(size: number): number {
  if (!Number.isSafeInteger(size) || size < 0) throw new TarError('has a header that cannot be read')
  return size
}

function padded(size: number): number {
  return Math.ceil(size / blockBytes) * blockBytes
}

function cutOff(): TarError {
  return new TarError('ends in the middle of a file')
}

/** Bytes of a stream in the pieces that are asked for; no more than so many in all. */
class ByteReader {
  readonly #source: AsyncIterator<Buffer>
  readonly #bytesMax: number
  #read = 0
  #chunk: Buffer = Buffer.alloc(0)

  constructor(stream: AsyncIterable<Buffer>, bytesMax: number) {
    this.#source = stream[Symbol.asyncIterator]()
    this.#bytesMax = bytesMax
  }

  /** Null: there is nothing more at all. */
  async take(count: number): Promise<Buffer | null> {
    const parts: Buffer[] = []
    for (let missing = count; missing > 0; ) {
      if (this.#chunk.length === 0 && !(await this.#fill())) {
        if (parts.length === 0) return null
        throw cutOff()
      }
      const part = this.#cut(missing)
      parts.push(part)
      missing -= part.length
    }
    return Buffer.concat(parts, count)
  }

  /** At least one byte, at most `count`. */
  async takeSome(count: number): Promise<Buffer> {
    if (this.#chunk.length === 0 && !(await this.#fill())) throw cutOff()
    return this.#cut(count)
  }

  async skip(count: number): Promise<void> {
    for (let left = count; left > 0; ) left -= (await this.takeSome(left)).length
  }

  async readOut(): Promise<void> {
    while (await this.#fill());
  }

  async #fill(): Promise<boolean> {
    const { done, value } = await this.#source.next()
    if (done === true) return false
    this.#chunk = value
    this.#read += value.length
    if (this.#read > this.#bytesMax) {
      throw new TarError(`has more than ${Math.floor(this.#bytesMax / 2 ** 20)} MiB when it is unpacked`)
    }
    return value.length > 0 || this.#fill()
  }

  #cut(count: number): Buffer {
    const piece = this.#chunk.subarray(0, count)
    this.#chunk = this.#chunk.subarray(piece.length)
    return piece
  }
}
