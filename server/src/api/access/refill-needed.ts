// A refusal that may not last: the process has used up its part of a limit, or does not know how far the tenant is. The
// missing part is fetched outside of any transaction, and the work is tried once more; then the refusal is sent.
import { ApiError } from '../http/api-error.ts'

export class RefillNeeded extends ApiError {
  readonly refill: () => Promise<void>

  constructor(refusal: ApiError, refill: () => Promise<void>) {
    super(refusal.code, refusal.message, refusal.errors)
    this.refill = refill
  }
}
