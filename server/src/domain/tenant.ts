// Who owns jobs. A single-team installation has one tenant and never meets the word.

/** The tenant that the operator key acts for. */
export const defaultTenantId = '00000000-0000-7000-8000-000000000001'

/** How long the hot history reaches at most: the longest retention of any tier. */
export const historyDaysMax = 365
