// Nothing outlives a run, not even a run ended by kill -9: a shell holds the reading end of a pipe of ours. When we are
// gone, for any reason, it kills the processes registered with it, stopped ones too, and removes the mount.
import { type ChildProcess, spawn } from 'node:child_process'

const script = `
trap '' INT TERM HUP
pids= mount=
while read -r what rest; do
  case $what in
    pids) pids=$rest ;;
    mount) mount=$rest ;;
  esac
done
for pid in $pids; do kill -KILL "$pid" 2>/dev/null; done
if [ -n "$mount" ]; then sleep 1; umount "$mount" 2>/dev/null || umount -l "$mount" 2>/dev/null; fi`

export class Guard implements AsyncDisposable {
  readonly #child: ChildProcess
  readonly #ended: Promise<void>
  readonly #pids = new Set<number>()

  constructor() {
    // A session of its own: Ctrl-C is for us to answer.
    this.#child = spawn('/bin/sh', ['-c', script, 'carillon-chaos-guard'], {
      cwd: '/',
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    })
    this.#child.stdin!.on('error', () => {})
    this.#ended = new Promise((resolve) => this.#child.once('exit', () => resolve()))
  }

  watch(pid: number): void {
    this.#pids.add(pid)
    this.#sendPids()
  }

  /** It has ended; its number may be another process's soon. */
  prune(pid: number): void {
    this.#pids.delete(pid)
    this.#sendPids()
  }

  /** '': there is none any more. */
  holdMount(path: string): void {
    this.#child.stdin!.write(`mount ${path}\n`)
  }

  #sendPids(): void {
    this.#child.stdin!.write(`pids ${[...this.#pids].join(' ')}\n`)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.stdin!.end()
    await this.#ended
  }
}
