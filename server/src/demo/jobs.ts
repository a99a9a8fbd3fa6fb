// The jobs of the demo world.
import type { DemoJob, DemoPlace } from './job-kit.ts'
import { specialJobs } from './jobs-special.ts'
import { usualJobs } from './jobs-usual.ts'

/** A job comes before the jobs that run after it. */
export function demoJobs(place: DemoPlace): DemoJob[] {
  return [...usualJobs(place), ...specialJobs(place)]
}
