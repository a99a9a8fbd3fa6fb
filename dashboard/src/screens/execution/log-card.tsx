// The log: follows its end while it grows, can be searched and wrapped; only the lines that are seen are in the page.
import { useVirtualizer } from '@tanstack/react-virtual'
import { useEffect, useRef, useState } from 'react'
import { CopyButton } from '../../components/button.tsx'
import { Check } from '../../components/field.tsx'
import { Card, ErrorBox, Loading } from '../../components/page.tsx'
import { clockOf, formatCount, formatExact, plural, zoneName } from '../../lib/format.ts'
import { useKey } from '../../lib/keys.ts'
import { timeMode } from '../../lib/preferences.ts'
import { useStore } from '../../lib/store.ts'
import { linesMax, useLogLines } from './log-lines.ts'
import { type Line, searchLines } from './log-search.ts'

const linePx = 20

export function LogCard({ executionId, isEnded }: { executionId: string; isEnded: boolean }) {
  const { lines, error, isRead } = useLogLines(executionId, isEnded)
  const [text, setText] = useState('')
  const [isWrapped, setWrapped] = useState(false)
  const [isFollowed, setFollowed] = useState(true)
  useKey('w', 'Wrap the log', () => setWrapped(!isWrapped))
  useKey('f', 'Follow the log', () => setFollowed(!isFollowed))
  const found = searchLines(lines, text)
  const count =
    text.trim() === ''
      ? plural(lines.length, 'line')
      : `${formatCount(found.length)} of ${plural(lines.length, 'line')}`
  const clock = clockOf(useStore(timeMode))
  const zone = zoneName(clock, lines.length === 0 ? 0 : Date.parse(lines[0]!.at))
  const counted = lines.length >= linesMax ? `the latest ${count}` : count
  return (
    <Card
      title="Log"
      aside={
        <span className="dim">
          <span>{counted}</span>
          {lines.length > 0 && <span> · Times in {zone}</span>}
        </span>
      }
    >
      <div className="log-tools">
        <input
          type="search"
          className="input"
          aria-label="Search the log"
          placeholder="Search the log  /"
          data-search
          maxLength={255}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <Check isOn={isFollowed} onChange={setFollowed}>
          Follow
        </Check>
        <Check isOn={isWrapped} onChange={setWrapped}>
          Wrap
        </Check>
        {lines.length > 0 && <CopyButton text={found.map(lineText).join('\n')} />}
      </div>
      {error !== null && lines.length === 0 && <ErrorBox error={error} />}
      {!isRead && error === null && <Loading />}
      {isRead && lines.length === 0 && (
        <p className="dim">
          {isEnded ? 'No log output.' : 'No log output yet.'} A handler writes with <code>ctx.log</code>; a
          target sends lines to <code>/executions/{'{id}'}/logs</code>.
        </p>
      )}
      {found.length > 0 && (
        <LogLines
          lines={found}
          isWrapped={isWrapped}
          isFollowed={isFollowed && text.trim() === ''}
          onLeave={() => setFollowed(false)}
        />
      )}
    </Card>
  )
}

interface LogLinesProps {
  lines: readonly Line[]
  isWrapped: boolean
  isFollowed: boolean
  /** Somebody scrolls up: following would take the page from under him. */
  onLeave(): void
}

function LogLines({ lines, isWrapped, isFollowed, onLeave }: LogLinesProps) {
  const box = useRef<HTMLDivElement>(null)
  const clock = clockOf(useStore(timeMode))
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: () => box.current,
    estimateSize: () => linePx,
    overscan: 20,
  })
  // biome-ignore lint/correctness/useExhaustiveDependencies: heights differ when wrapped
  useEffect(() => virtual.measure(), [isWrapped, virtual])
  useEffect(() => {
    if (isFollowed) virtual.scrollToIndex(lines.length - 1, { align: 'end' })
  }, [isFollowed, lines.length, virtual])
  return (
    <div
      ref={box}
      className={isWrapped ? 'log wrapped' : 'log'}
      role="group"
      aria-label="Lines of the log"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling element must be reachable by keyboard
      tabIndex={0}
      onWheel={(event) => event.deltaY < 0 && isFollowed && onLeave()}
    >
      <div style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map((item) => {
          const line = lines[item.index]!
          return (
            <div
              key={item.key}
              data-index={item.index}
              ref={isWrapped ? virtual.measureElement : undefined}
              className={`log-line log-${line.level}`}
              style={{ transform: `translateY(${item.start}px)` }}
            >
              <span className="log-at">{formatExact(line.at, clock).slice(11, 23)}</span>
              <span className="log-level">
                {line.attempt_number} {line.level}
              </span>
              <span className="log-message">{line.message}</span>
            </div>
          )
        })}
      </div>
    </div>
  )
}

function lineText({ at, attempt_number, level, message }: Line): string {
  return `${at} attempt ${attempt_number} ${level} ${message}`
}
