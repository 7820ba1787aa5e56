// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Drives the console in a browser while the objects of the cluster change. It prints what it does; lines that begin with "request:"
// are for the test that runs it, which responds with a line.
import assert from 'node:assert/strict'
import {execFileSync} from 'node:child_process'
import {mkdirSync, readFileSync} from 'node:fs'
import {request} from 'node:http'
import {createInterface} from 'node:readline'
import {chromium} from 'playwright-core'

const {KUBECTL, CHROMIUM, CONSOLE, MEMBER_CONSOLE, CONFIG, SCREENSHOTS} = process.env
const timeout = 60_000
const axe = readFileSync('node_modules/axe-core/axe.min.js', 'utf8')
const answers = createInterface({input: process.stdin})[Symbol.asyncIterator]()

function kubectl(...args) {
  return execFileSync(KUBECTL, args, {encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit']})
}

function apply(manifest) {
  execFileSync(KUBECTL, ['apply', '-f', '-'], {input: manifest, stdio: ['pipe', 'ignore', 'inherit']})
}

async function ask(text) {
  console.log(`request: ${text}`)
  await answers.next()
}

// setStatus writes the status of a Kluster, as the controllers do.
function setStatus(name, status) {
  kubectl('patch', 'kluster', name, '--namespace=garden-shop', '--subresource=status', '--type=merge', '--patch', JSON.stringify({status}))
}

function condition(type, status, reason, message) {
  return {type, status, reason, message, lastTransitionTime: new Date().toISOString().replace(/\.\d+/, '')}
}

// A page on which nothing may fail and that sends requests only to the console.
async function open(browser, url, scheme) {
  const context = await browser.newContext({colorScheme: scheme, viewport: {width: 1280, height: 800}})
  context.setDefaultTimeout(timeout)
  const page = await context.newPage()
  page.failures = []
  const {origin} = new URL(url)
  page.on('pageerror', (error) => page.failures.push(error.stack))
  page.on('console', (message) => message.type() === 'error' && !/Failed to load resource/.test(message.text()) && page.failures.push(message.text()))
  page.on('request', (r) => r.url().startsWith(origin) || page.failures.push(`request to ${r.url()}`))
  await page.goto(url)
  assert.equal(page.url(), `${origin}/`, 'the token stays in the address')
  return page
}

// The page of an address passes axe, in a state that contains a text.
async function check(page, address, text, name) {
  await page.evaluate((hash) => (location.hash = hash), address)
  await page.getByText(text).first().waitFor()
  const violations = await page.evaluate(`${axe}; axe.run(document).then((r) => r.violations.map((v) => v.id + ': ' + v.nodes.map((n) => n.html).join(' ')))`)
  assert.deepEqual(violations, [], `axe finds problems on ${address}`)
  assert.deepEqual(page.failures, [], `the page ${address} fails`)
  if (SCREENSHOTS && name) {
    mkdirSync(SCREENSHOTS, {recursive: true})
    await page.screenshot({path: `${SCREENSHOTS}/console-${name}.png`})
  }
  console.log(`ok: ${address} with ${text}`)
}

// The code of the response to a request with these headers and this method.
function code(url, method, headers) {
  return new Promise((resolve, reject) => {
    request(url, {method, headers}, (response) => resolve(response.resume().statusCode)).on('error', reject).end()
  })
}

const browser = await chromium.launch({executablePath: CHROMIUM, args: ['--no-sandbox']})
try {
  const {origin} = new URL(CONSOLE)
  for (const [what, method, headers] of [['cookie', 'GET', {}], ['host', 'GET', {Host: 'evil.example.com'}], ['origin', 'GET', {Origin: 'http://evil.example.com'}], ['method', 'POST', {}]]) {
    assert.equal(await code(`${origin}/api/search`, method, headers), 403, `without the right ${what}`)
  }

  const page = await open(browser, CONSOLE, 'light')
  await check(page, '/', 'There are no findings.')
  assert.equal(await code(CONSOLE, 'GET', {}), 403, 'second use of the token')
  await check(page, '/deorbit', 'No Kluster is being deleted.')
  await check(page, '/lost-nodes', 'No node with local volumes')
  await check(page, '/search', '0 objects')

  // Objects that are created while the page is open.
  await page.evaluate(() => (location.hash = '/'))
  kubectl('apply', '-f', 'fixtures.yaml')
  kubectl('wait', '--for=jsonpath={.status.phase}=Ready', 'project/shop', '--timeout=60s')
  apply('{apiVersion: kubernikus.sap.cc/v1, kind: Kluster, metadata: {name: web, namespace: garden-shop}, spec: {}}')
  apply('{apiVersion: v1, kind: ResourceQuota, metadata: {name: limits, namespace: garden-shop}, spec: {hard: {pods: "10", secrets: "20"}}}')
  await page.getByRole('link', {name: 'garden-shop/web'}).waitFor()
  await check(page, '/object/project//shop', 'cost center 42', 'project')
  await page.getByText('alice (User)').first().waitFor()

  // A Deorbit that advances.
  kubectl('annotate', 'kluster', 'web', '--namespace=garden-shop', 'confirmation.gardener.cloud/deletion=true')
  kubectl('delete', 'kluster', 'web', '--namespace=garden-shop', '--wait=false')
  const begun = () => new Date().toISOString().replace(/\.\d+/, '')
  const startedAt = begun()
  const stage = (name, remaining) => setStatus('web', {phase: 'Terminating', conditions: [condition('Deorbited', 'False', name, `${remaining.length} remain`)],
    deorbit: {stage: name, startedAt, stageStartedAt: begun(), lastProgressAt: begun(), remaining, retained: [{kind: 'FloatingIP', id: '0f3a', reason: 'the Service retains it'}]}})
  await page.evaluate(() => (location.hash = '/deorbit'))
  stage('Pods', [{kind: 'Pod', namespace: 'db', name: 'db-0', reason: 'it is being deleted'}])
  await page.locator('[aria-current=step]', {hasText: 'Pods'}).waitFor()
  stage('Claims', [{kind: 'PersistentVolumeClaim', namespace: 'db', name: 'data-0', reason: 'a pod uses it'}])
  await page.locator('[aria-current=step]', {hasText: 'Claims'}).waitFor()
  await check(page, '/deorbit', 'a pod uses it', 'deorbit')
  setStatus('web', {conditions: [condition('Deorbited', 'False', 'Unreachable', 'the API server of the cluster does not respond')]})
  await check(page, '/deorbit', 'needs attention')
  await check(page, '/object/kluster/garden-shop/web', 'is blocked by the finalizer')

  // A response that ends in between.
  await page.route('**/api/object*', (route) => route.fulfill({contentType: 'application/json', body: '{"key": "kluster'}))
  await check(page, '/object/kluster/garden-shop/other', 'JSON')
  await page.unroute('**/api/object*')

  // A drain.
  kubectl('create', 'secret', 'generic', 'us', '--namespace=gimbal-discovery', '--from-literal=kubeconfig=none')
  apply('{apiVersion: gimbal.heptio.com/v1, kind: DiscoveryBackend, metadata: {name: us, namespace: gimbal-discovery}, cluster: {type: kubernetes, secret: us, clusterStatus: Maintenance}}')
  await check(page, '/', 'is in maintenance', 'overview')
  await check(page, '/object/discoverybackend/gimbal-discovery/us', 'Maintenance')

  // A node with a local volume that is lost.
  const uid = kubectl('get', 'pvc', 'data-0', '--output=jsonpath={.metadata.uid}')
  kubectl('patch', 'pv', 'disk-1', '--type=merge', '--patch', JSON.stringify({spec: {claimRef: {uid}}}))
  apply(`{apiVersion: v1, kind: ConfigMap, metadata: {name: config, namespace: groundskeeper-system}, data: {config.yaml: ${JSON.stringify(readFileSync(CONFIG, 'utf8'))}}}`)
  apply(JSON.stringify({apiVersion: 'apps/v1', kind: 'Deployment', metadata: {name: 'groundskeeper-controller-manager', namespace: 'groundskeeper-system'},
    spec: {replicas: 0, selector: {matchLabels: {app: 'manager'}}, template: {metadata: {labels: {app: 'manager'}}, spec: {
      containers: [{name: 'manager', image: 'registry.example/manager', args: ['--config=/etc/groundskeeper/config.yaml'], volumeMounts: [{name: 'config', mountPath: '/etc/groundskeeper'}]}],
      volumes: [{name: 'config', configMap: {name: 'config'}}]}}}}))
  kubectl('delete', 'node', 'node-1')
  await page.evaluate(() => (location.hash = '/lost-nodes'))
  await page.getByRole('heading', {name: 'node-1'}).waitFor()
  await check(page, '/lost-nodes', 'its claims are deleted', 'lost-nodes')
  await page.getByText('default/data-0').waitFor()

  // The keyboard: / moves to the search box.
  await page.keyboard.press('/')
  await page.keyboard.type('web')
  await page.keyboard.press('Enter')
  await check(page, '/search?q=web', '1 object with web')

  // A user with few permissions.
  const member = await open(browser, MEMBER_CONSOLE, 'dark')
  await check(member, '/', 'Only namespace', 'member')
  await member.getByRole('link', {name: 'garden-shop/web'}).waitFor()
  await check(member, '/lost-nodes', 'you are not allowed to get ConfigMap')

  // An API server that dies and comes back.
  await page.evaluate(() => (location.hash = '/'))
  await ask('stop the API server')
  await check(page, '/', 'Not current')
  await page.getByRole('link', {name: 'garden-shop/web'}).waitFor()
  await ask('start the API server')
  await page.getByText('Not current').first().waitFor({state: 'detached'})

  // The end of the Deorbit.
  await page.evaluate(() => (location.hash = '/deorbit'))
  kubectl('patch', 'kluster', 'web', '--namespace=garden-shop', '--type=merge', '--patch', '{"metadata":{"finalizers":null}}')
  await check(page, '/deorbit', 'Deleted while the console ran')
} finally {
  await browser.close()
}
process.exit(0)
