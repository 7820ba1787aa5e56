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

const {KUBECTL, CHROMIUM, CONSOLE, ACTIONS_CONSOLE, MEMBER_CONSOLE, SCREENSHOTS} = process.env
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

// The page of an address passes axe and fits on the screen, in a state that contains a text.
async function check(page, address, text, name) {
  await page.evaluate((hash) => (location.hash = hash), address)
  await page.getByText(text).filter({visible: true}).first().waitFor()
  // On a phone, at 200 % zoom, and on a large screen, nothing is off the screen. What is wider scrolls in its own area.
  const {width, height} = page.viewportSize()
  for (const wide of [400, 640, 2560, width]) {
    await page.setViewportSize({width: wide, height})
    const needed = await page.evaluate(() => document.documentElement.scrollWidth)
    assert.ok(needed <= wide, `${address} needs ${needed} pixels at a width of ${wide}`)
    if (wide !== 400 && wide !== width) continue
    const violations = await page.evaluate(`${axe}; axe.run(document).then((r) => r.violations.map((v) => v.id + ': ' + v.nodes.map((n) => n.html).join(' ')))`)
    assert.deepEqual(violations, [], `axe finds problems on ${address} at a width of ${wide}`)
  }
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
  const paint = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0].startTime)
  console.log(`first paint after ${Math.round(paint)} ms`)
  assert.equal(await code(CONSOLE, 'GET', {}), 403, 'second use of the token')
  await check(page, '/backends', 'There is no DiscoveryBackend.')
  await check(page, '/network', 'Select a Service, a Node or a Pod')
  await check(page, '/deorbit', 'No Kluster is being deleted.')
  await check(page, '/lost-nodes', 'No node with local volumes')
  await check(page, '/list', '0 objects')

  // Objects that are created while the page is open.
  await page.evaluate(() => (location.hash = '/'))
  kubectl('apply', '-f', 'fixtures.yaml')
  kubectl('wait', '--for=jsonpath={.status.phase}=Ready', 'project/shop', '--timeout=60s')
  await check(page, '/object/project//shop', 'The namespace has no quota.')
  await page.evaluate(() => (location.hash = '/'))
  apply('{apiVersion: kubernikus.sap.cc/v1, kind: Kluster, metadata: {name: web, namespace: garden-shop}, spec: {}}')
  apply('{apiVersion: v1, kind: ResourceQuota, metadata: {name: limits, namespace: garden-shop}, spec: {hard: {pods: "10", secrets: "20"}}}')
  await page.getByRole('link', {name: 'garden-shop/web', exact: true}).waitFor()
  await check(page, '/?kind=Klusters&q=web', 'garden-shop/web')
  await check(page, '/?kind=Translations&q=none', 'No finding matches the filters.')
  await check(page, '/object/project//shop', 'cost center 42', 'project')
  await page.getByText('alice (User)').first().waitFor()
  assert.match(await page.title(), /^(\(\d+\) )?project shop · Groundskeeper$/)
  await page.getByText('kubectl groundskeeper why project/shop').waitFor()
  await page.getByRole('navigation', {name: 'Breadcrumbs'}).getByRole('link', {name: 'Projects'}).waitFor()
  await page.locator('.dot.live').waitFor()

  // An orphaned route, before and after Route GC removes it.
  const minutes = (n) => new Date(Date.now() + n * 60_000).toISOString().replace(/\.\d+/, '')
  setStatus('web', {phase: 'Running', conditions: [condition('RoutesClean', 'False', 'ConfirmingOrphans', '1 routes lead to no server and are removed if that stays so')],
    routeGC: {orphanCount: 1, orphans: [{destination: '100.100.2.0/24', nextHop: '10.0.0.6', reason: 'ServerDeleted', since: minutes(-1), removalDue: minutes(4)}]}})
  await check(page, '/deorbit', '100.100.2.0/24', 'route-gc')
  await page.getByRole('cell', {name: /^in /}).waitFor()
  await check(page, '/object/kluster/garden-shop/web', 'the server of the next hop has been deleted')
  await page.evaluate(() => (location.hash = '/deorbit'))
  setStatus('web', {conditions: [condition('RoutesClean', 'True', 'NoOrphans', 'all 3 routes of the cluster lead to something')], routeGC: null})
  await page.getByText('No orphaned route is known.').waitFor()

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
  setStatus('web', {conditions: [condition('Deorbited', 'False', 'CloudChanged', 'the credentials lead to another cloud')]})
  await check(page, '/deorbit', 'needs attention')
  await check(page, '/object/kluster/garden-shop/web', 'is blocked by the finalizer')
  await check(page, '/object/kluster/garden-shop/none', 'not found')

  // A response that ends in between.
  await page.route('**/api/object*', (route) => route.fulfill({contentType: 'application/json', body: '{"key": "kluster'}))
  await check(page, '/object/kluster/garden-shop/other', 'JSON')
  await page.unroute('**/api/object*')

  // Routes of two backends, of which one is drained on the page.
  kubectl('apply', '-f', 'routes.yaml')
  kubectl('wait', '--for=condition=Established', 'crd/httpproxies.projectcontour.io', '--timeout=60s')
  const services = (...all) => ({routes: [{services: all.map(([name, weight]) => ({name, port: 80, weight}))}]})
  for (const [name, spec] of Object.entries({both: services(['us-web', 70], ['eu-web', 30]), shifted: services(['us-web', 20], ['eu-web', 80]), sole: services(['us-web'])})) {
    apply(JSON.stringify({apiVersion: 'projectcontour.io/v1', kind: 'HTTPProxy', metadata: {namespace: 'garden-shop', name}, spec}))
  }
  await check(page, '/backends', 'HTTPProxy garden-shop/sole', 'backends')
  const covered = await page.evaluate(() => {
    const boxes = [...document.querySelectorAll('.sankey text')].map((text) => text.getBoundingClientRect())
    return boxes.filter((a, i) => boxes.some((b, j) => j > i && a.left < b.right && b.left < a.right && a.top + 1 < b.bottom && b.top + 1 < a.bottom)).length
  })
  assert.equal(covered, 0, 'names of the flow cover each other')
  assert.equal(await page.locator('.sankey text', {hasText: '…'}).count(), 0, 'names of the flow are cut')
  await page.getByRole('button', {name: 'Isolate HTTPProxy garden-shop/sole'}).press('Enter')
  await page.getByRole('cell', {name: 'HTTPProxy garden-shop/both'}).first().waitFor({state: 'detached'})
  await page.keyboard.press('Escape')
  await page.getByRole('cell', {name: 'HTTPProxy garden-shop/both'}).first().waitFor()
  await check(page, '/backends?group=namespace', 'namespace garden-shop: 3 routes')
  await check(page, '/backends?backend=us&if=Maintenance', 'would return errors', 'what-if')
  await page.getByText('2 routes would send to other targets').waitFor()
  await check(page, '/backends?q=shifted', 'HTTPProxy garden-shop/shifted')
  await page.getByRole('cell', {name: 'HTTPProxy garden-shop/sole'}).waitFor({state: 'detached'})
  await check(page, '/object/discoverybackend/gimbal-discovery/us', 'what if it were drained')
  assert.equal(await page.getByRole('button', {name: 'Drain'}).count(), 0, 'a console without --actions offers a change')

  const acting = await open(browser, ACTIONS_CONSOLE, 'light')
  await check(acting, '/object/discoverybackend/gimbal-discovery/us', 'changes are possible')
  await acting.getByText('1 routes have no other backend').waitFor()
  await acting.getByRole('button', {name: 'Drain'}).click()
  await acting.getByRole('dialog').getByText('Take gimbal-discovery/us out of service?').waitFor()
  await acting.keyboard.press('Enter') // the focus is on Cancel
  await acting.getByRole('dialog').waitFor({state: 'detached'})
  assert.equal(kubectl('get', 'discoverybackend', 'us', '--namespace=gimbal-discovery', '--output=jsonpath={.cluster.clusterStatus}'), 'Enabled')
  await acting.getByRole('button', {name: 'Drain'}).click()
  await check(acting, '/object/discoverybackend/gimbal-discovery/us', 'of them have no other backend', 'question')
  await acting.getByRole('button', {name: 'Yes, drain'}).click()
  await acting.getByText('Drain: confirmed.').waitFor()
  await check(page, '/backends', 'of 3 routes are drained', 'drain')
  await page.getByRole('row', {name: /both.*us-web.* 0 % 70 % 0 %/}).waitFor()
  await check(page, '/', 'gimbal-discovery/us', 'overview')
  await check(page, '/object/discoverybackend/gimbal-discovery/us', 'Maintenance')
  await check(page, '/backends?backend=us&if=Enabled', 'would send to it as users want')
  await acting.getByRole('button', {name: 'Bring back to service'}).click()
  await acting.getByRole('button', {name: 'Yes, bring back to service'}).click()
  await acting.getByText('Bring back to service: confirmed.').waitFor()
  await page.evaluate(() => (location.hash = '/backends'))
  await page.getByRole('row', {name: /both.*us-web.* 70 % 70 % 70 %/}).waitFor()

  // The network of a Node with a Pod, of which another client deleted a resource.
  const [bridge, port, podPort, chain, host] = ['1', '2', '3', '4', '5'].map((n) => `${n}3fb0355-e2d9-5a9f-83a6-1efd43edebbc`)
  apply(JSON.stringify({apiVersion: 'v1', kind: 'Pod', metadata: {namespace: 'garden-shop', name: 'web-0'},
    spec: {nodeName: 'node-2', automountServiceAccountToken: false, terminationGracePeriodSeconds: 0, containers: [{name: 'web', image: 'registry.example/web'}]}}))
  const translate = (namespace, name, kind, owner, resources, states) => {
    const uid = kubectl('get', kind, owner, `--namespace=${namespace}`, '--output=jsonpath={.metadata.uid}')
    apply(JSON.stringify({apiVersion: 'midonet.org/v1', kind: 'Translation', metadata: {namespace, name, labels: {'midonet.org/owner-uid': uid}, ownerReferences: [{apiVersion: 'v1', kind, name: owner, uid}]},
      resources: resources.map(([k, parent, body]) => ({kind: k, parent, body: JSON.stringify(body)}))}))
    kubectl('patch', 'translation', name, `--namespace=${namespace}`, '--subresource=status', '--type=merge', '--patch', JSON.stringify({status: {resources: states}}))
  }
  translate('default', 'node.4.node-2', 'Node', 'node-2', [
    ['Bridge', '', {id: bridge, name: 'node-2', inboundFilterId: chain}], ['Port', bridge, {id: port, type: 'Bridge'}], ['HostInterfacePort', host, {hostId: host, portId: port, interfaceName: 'midokube-mido'}],
  ], [{kind: 'Bridge', id: bridge, state: 'Synced'}, {kind: 'Port', id: port, parent: bridge, state: 'Synced'}, {kind: 'HostInterfacePort', id: port, parent: host, state: 'Synced'}])
  translate('garden-shop', 'pod.4.web-0', 'Pod', 'web-0', [
    ['Port', bridge, {id: podPort, type: 'Bridge'}], ['HostInterfacePort', host, {hostId: host, portId: podPort, interfaceName: 'veth-web-0'}],
  ], [{kind: 'Port', id: podPort, parent: bridge, state: 'Drifted', message: 'another client deleted it'}, {kind: 'HostInterfacePort', id: podPort, parent: host, state: 'Synced'}])
  await page.evaluate(() => (location.hash = '/network'))
  await page.getByLabel('Kind', {exact: true}).selectOption('Node')
  await page.getByLabel('Namespace and name', {exact: true}).fill('node-2')
  await page.getByRole('button', {name: 'Show'}).click()
  await page.getByText('1 needs attention').waitFor()
  await check(page, '/network?kind=Node&namespace=&name=node-2', 'another client deleted it', 'network')
  await check(page, '/network?kind=Pod&namespace=garden-shop&name=web-0', 'Node node-2')
  await check(page, '/network?kind=Service&namespace=garden-shop&name=us-web', 'It has no Translation.')
  await check(page, '/network?kind=Node&namespace=&name=none', 'not found')
  await check(page, '/object/translation/garden-shop/pod.4.web-0', 'whose network is a graph there')
  kubectl('patch', 'translation', 'pod.4.web-0', '--namespace=garden-shop', '--subresource=status', '--type=merge', '--patch', JSON.stringify({status: {resources: [{kind: 'Port', id: podPort, parent: bridge, state: 'Synced'}]}}))
  await page.evaluate(() => (location.hash = '/network?kind=Pod&namespace=garden-shop&name=web-0'))
  await page.getByText('needs attention').first().waitFor({state: 'detached'})
  kubectl('delete', 'pod', 'web-0', '--namespace=garden-shop', '--wait=false', '--force')

  // A node with a local volume that is lost.
  const uid = kubectl('get', 'pvc', 'data-0', '--output=jsonpath={.metadata.uid}')
  kubectl('patch', 'pv', 'disk-1', '--type=merge', '--patch', JSON.stringify({spec: {claimRef: {uid}}}))
  kubectl('delete', 'node', 'node-1')
  await page.evaluate(() => (location.hash = '/lost-nodes'))
  await page.getByRole('heading', {name: 'node-1'}).waitFor()
  await check(page, '/lost-nodes', '1 claim will be deleted', 'lost-nodes')
  await page.getByText('default/data-0').waitFor()

  // The keyboard: / moves to the search box.
  await page.keyboard.press('/')
  await page.keyboard.type('web')
  await page.keyboard.press('Enter')
  await check(page, '/list?q=web', /objects? with web/)
  await page.getByRole('link', {name: 'web', exact: true}).waitFor()

  // A list is ordered by a column, and the keyboard moves in it and opens an object.
  await check(page, '/list?kind=DiscoveryBackends&sort=-name', 'DiscoveryBackends 2', 'list')
  assert.deepEqual(await page.locator('tbody td.name').allTextContents(), ['us', 'eu'])
  await page.getByRole('columnheader', {name: /^Name( |$)/}).getByRole('link').click()
  await page.getByRole('row', {name: /^gimbal-discovery eu/}).and(page.locator('[aria-rowindex="2"]')).waitFor()
  await page.locator('.window').focus()
  await page.keyboard.press('End')
  await page.locator('[aria-selected=true]', {hasText: 'us'}).waitFor()
  await page.keyboard.press('Enter')
  await page.getByRole('heading', {name: 'us'}).first().waitFor()
  await check(page, '/list?kind=Translations', 'Node node-2')
  await check(page, '/nothing', 'The console has no page')

  // A user with few permissions.
  const member = await open(browser, MEMBER_CONSOLE, 'dark')
  await check(member, '/', 'Only namespace', 'member')
  await member.getByRole('link', {name: 'garden-shop/web', exact: true}).waitFor()
  await check(member, '/backends', 'you are not allowed to list')
  await check(member, '/lost-nodes', 'you are not allowed to get ConfigMap')
  await check(member, '/network?kind=Node&namespace=&name=node-2', 'forbidden')
  await ask('stop the console of the member')
  await check(member, '/', 'The console does not respond')

  // An API server that dies and comes back.
  await page.evaluate(() => (location.hash = '/'))
  await ask('stop the API server')
  await check(page, '/', 'Not current')
  await page.getByRole('link', {name: 'garden-shop/web', exact: true}).waitFor()
  for (const address of ['/deorbit', '/backends']) await check(page, address, 'Not current')
  for (const address of ['/list', '/object/project//shop', '/network?kind=Node&namespace=&name=node-2']) await check(page, address, /unavailable|unable to handle|trying to reach/)
  await page.evaluate(() => (location.hash = '/'))
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
