// Promises that share a transaction: it is theirs until the last of them has settled, also when one has failed.

export async function allOrFirstError<T>(promises: readonly Promise<T>[]): Promise<T[]> {
  const settled = await Promise.allSettled(promises)
  const failed = settled.find((one) => one.status === 'rejected')
  if (failed !== undefined) throw failed.reason
  return settled.map((one) => (one as PromiseFulfilledResult<T>).value)
}
