import assert from 'node:assert/strict'
import test from 'node:test'
import { checkCallbackUrl, parseTarget } from './callback-url.ts'

test('an absolute http or https URL is accepted', () => {
  const fine = [
    'http://example.com',
    'https://example.com:8443/a/b?c=d&e=%20f',
    'HTTPS://EXAMPLE.com/',
    'http://localhost:3000/hook',
    'http://[2606:4700::1111]/x',
    'https://bücher.example/grüße?q=ä',
    'https://example.com/@user/a:b',
    'https://example.com/?to=a@b.example',
    `https://example.com/${'x'.repeat(2_048 - 20)}`,
  ]
  for (const url of fine) assert.equal(checkCallbackUrl(url), null, url)
})

test('any other URL is refused with its reason', () => {
  const refused: [url: string, reason: RegExp][] = [
    ['', /not an absolute http or https URL/],
    ['/hook', /not an absolute/],
    ['example.com/hook', /not an absolute/],
    ['//example.com/hook', /not an absolute/],
    ['ftp://example.com/', /not an absolute/],
    ['file:///etc/passwd', /not an absolute/],
    ['javascript:alert(1)', /not an absolute/],
    ['http:example.com', /not an absolute/],
    ['http:/example.com', /not an absolute/],
    ['http:\\\\example.com', /not an absolute/],
    ['http://example.com\\@evil.example', /not an absolute/],
    [' http://example.com', /not an absolute/],
    ['http://example.com/a b', /not an absolute/],
    ['http://example.com/\r\nx-injected: 1', /not an absolute/],
    ['http://example.com/\0', /not an absolute/],
    ['http://user@example.com/', /user name or password/],
    ['http://user:secret@example.com/', /user name or password/],
    ['http://:secret@example.com/', /user name or password/],
    ['http://@example.com/', /user name or password/],
    ['http://example.com/#part', /fragment/],
    ['http://example.com/#', /fragment/],
    ['http://', /no host/],
    ['http:///path', /no host/],
    ['https://?a=1', /no host/],
    ['http://:8080/', /no host/],
    ['http://example.com:99999/', /not valid/],
    ['http://exa%00mple.com/', /not valid/],
    ['http://[::1/', /not valid/],
    ['http://1.2.3.4.5/', /not valid/],
    [`https://example.com/${'x'.repeat(2_048)}`, /longer than 2048/],
  ]
  for (const [url, reason] of refused) assert.match(checkCallbackUrl(url) ?? 'accepted', reason, url)
})

test('a reason never repeats a password', () => {
  assert(!checkCallbackUrl('http://user:secret@example.com/')?.includes('secret'))
})

test('a URL is split into the address to connect to and the path to request', () => {
  assert.deepEqual(parseTarget('HTTP://Example.com:80/a?b=c#d'), {
    origin: 'http://example.com',
    path: '/a?b=c',
  })
  assert.deepEqual(parseTarget('https://0x7f.1:8443'), { origin: 'https://127.0.0.1:8443', path: '/' })
  assert.equal(parseTarget('ftp://example.com/'), null)
  assert.equal(parseTarget('http://user:pass@example.com/'), null)
  assert.equal(parseTarget('no url'), null)
})
