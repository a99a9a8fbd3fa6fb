// Randomness, so that a simulation repeats from its seed.

export interface Random {
  /** Uniform in [0, 1). */
  next(): number
  /** Unpredictable bytes: keys, tokens, ids. */
  bytes(count: number): Uint8Array
}
