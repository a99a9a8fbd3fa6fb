// The jobs of the demo world.
import type { DemoJob, DemoPlace } from './job-kit.ts'
import { specialJobs } from './jobs-special.ts'
import { usualJobs } from './jobs-usual.ts'

/** What others run after comes before them. */
export function demoJobs(place: DemoPlace): DemoJob[] {
  return [...usualJobs(place), ...specialJobs(place)]
}
