// Waiting for something to do: until somebody wakes, or the time is over. A wake-up that nobody waits for is kept.

export class Wake {
  #isWoken = false
  #resolve: (() => void) | null = null

  wake(): void {
    this.#isWoken = true
    this.#resolve?.()
  }

  /** True: somebody woke it. */
  async wait(ms = 2_147_483_647): Promise<boolean> {
    if (!this.#isWoken) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms)
        this.#resolve = () => {
          clearTimeout(timer)
          resolve()
        }
      })
      this.#resolve = null
    }
    const isWoken = this.#isWoken
    this.#isWoken = false
    return isWoken
  }
}
