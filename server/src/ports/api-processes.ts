// Processes with the role api, and how many requests a second tenants with a limit send to each. For the division of these
// limits only: a process that is wrongly believed alive or dead shifts a share for some seconds.

export interface ApiProcesses {
  /** This process is up, and has these requests. Returns the others that have reported within `termMs`. Safe to repeat. */
  report(process: ApiProcess, termMs: number): Promise<ApiProcess[]>
  /** This process ends; safe to repeat. */
  leave(processId: string): Promise<void>
}

export interface ApiProcess {
  processId: string
  /** Requests a second, by tenant with a limit; at most `reportedTenantsMax`. */
  rates: ReadonlyMap<string, number>
}

export const reportedTenantsMax = 10_000
