// The roles of a server process. One process runs all roles by default.

export const ROLES = ['api', 'scheduler', 'worker', 'history'] as const
export type Role = (typeof ROLES)[number]
