// The sheet of keys that `?` shows: keys of the page and keys of the screen.
import { Dialog } from '../components/dialog.tsx'
import { listKeys } from '../lib/keys.ts'

export function KeySheet({ onClose }: { onClose(): void }) {
  const seen = new Map(listKeys().map((binding) => [binding.keys, binding]))
  return (
    <Dialog title="Keys" onClose={onClose}>
      <dl className="key-sheet">
        {[...seen.values()].map(({ keys, name }) => (
          <div key={keys}>
            <dt>
              {keys.split(' ').map((stroke, index) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: in `g g` a stroke is there twice, and the order stays
                <kbd key={index}>
                  {stroke.replace('mod+', navigator.platform.startsWith('Mac') ? '⌘' : 'Ctrl ')}
                </kbd>
              ))}
            </dt>
            <dd>{name}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  )
}
