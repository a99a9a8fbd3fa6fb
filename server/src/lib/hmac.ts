// HMAC-SHA256 by two one-shot hashes over a kept block: 2.1 µs a text of 150 bytes, against 3.5 by `createHmac` with a
// key object. Every callback is signed, so it counts.
import assert from 'node:assert/strict'
import { createHmac, hash } from 'node:crypto'

const blockBytes = 64
const digestBytes = 32
/** A longer text uses `createHmac`: there the hash itself dominates the cost. */
const textBytesMax = 4_096
/** Maximum UTF-8 bytes for each unit of a JavaScript string. */
const bytesPerUnitMax = 3

/** Shared by all keys: the input of the hash is assembled here, a block and the text after it. */
const inner = Buffer.alloc(blockBytes + textBytesMax)
const outer = Buffer.alloc(blockBytes + digestBytes)

export class HmacSha256 {
  readonly #key: Uint8Array
  readonly #innerBlock = new Uint8Array(blockBytes)
  readonly #outerBlock = new Uint8Array(blockBytes)

  /** `key`: at most 64 bytes. */
  constructor(key: Uint8Array) {
    assert(key.length > 0 && key.length <= blockBytes, 'the key must have 1 to 64 bytes')
    this.#key = Uint8Array.from(key)
    for (let i = 0; i < blockBytes; i++) {
      const byte = key[i] ?? 0
      this.#innerBlock[i] = byte ^ 0x36
      this.#outerBlock[i] = byte ^ 0x5c
    }
  }

  base64(text: string): string {
    return this.#digest(text, 'base64')
  }

  base64url(text: string): string {
    return this.#digest(text, 'base64url')
  }

  #digest(text: string, encoding: 'base64' | 'base64url'): string {
    if (text.length * bytesPerUnitMax > textBytesMax)
      return createHmac('sha256', this.#key).update(text).digest(encoding)
    inner.set(this.#innerBlock)
    const end = blockBytes + inner.write(text, blockBytes)
    outer.set(this.#outerBlock)
    // As text and not as bytes: a buffer made for each digest would cost as much as the hash.
    outer.write(hash('sha256', inner.subarray(0, end), 'latin1'), blockBytes, 'latin1')
    return hash('sha256', outer, encoding)
  }
}
