// The tags of a job; each leads to all jobs that have it.
import { Link } from '@tanstack/react-router'
import './tags.css'

export function Tags({ tags }: { tags: readonly string[] }) {
  return (
    <span className="tags">
      {tags.map((tag) => (
        <Link key={tag} to="/jobs" search={{ tag } as never} className="tag">
          {tag}
        </Link>
      ))}
    </span>
  )
}
