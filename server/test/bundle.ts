// Tar archives for tests, also such as no tool would make.

export interface TarPart {
  path: string
  content?: string | Buffer
  /** As in the header: default a file. */
  type?: string
  target?: string
  mode?: number
  /** The size that the header claims; defaults to the real size. */
  size?: number
}

export function packTar(parts: readonly TarPart[]): Buffer {
  const blocks = parts.flatMap(({ path, content = '', type = '0', target = '', mode = 0o644, size }) => {
    const bytes = Buffer.from(content)
    const header = Buffer.alloc(512)
    const long = Buffer.byteLength(path) > 100
    header.write(long ? 'long' : path, 0, 100)
    header.write(`${mode.toString(8).padStart(7, '0')}\0`, 100)
    header.write(`${(size ?? bytes.length).toString(8).padStart(11, '0')}\0`, 124)
    header.write('        ', 148)
    header.write(type, 156)
    header.write(target, 157, 100)
    header.write('ustar\x0000', 257)
    const sum = header.reduce((total, byte) => total + byte, 0)
    header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
    const name = long
      ? [packTar([{ path: 'long', type: 'L', content: `${path}\0` }]).subarray(0, -1_024)]
      : []
    return [...name, header, bytes, Buffer.alloc((512 - (bytes.length % 512)) % 512)]
  })
  return Buffer.concat([...blocks, Buffer.alloc(1_024)])
}
