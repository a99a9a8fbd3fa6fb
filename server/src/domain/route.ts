// A route says which workers may claim an execution.

/** Claimed by our own workers: http. */
export const serverRoute = 'server'
