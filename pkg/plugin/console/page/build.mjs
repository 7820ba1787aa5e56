// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Builds the page into the directory that is given, by default ../assets. The result is the same on every machine.
import {copyFileSync, mkdirSync, readFileSync, writeFileSync} from 'node:fs'
import {build} from 'esbuild'

const out = process.argv[2] ?? '../assets'
mkdirSync(out, {recursive: true})
await build({
  entryPoints: {console: 'src/main.jsx'},
  outdir: out,
  bundle: true,
  minify: true,
  format: 'esm',
  target: 'es2022',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  legalComments: 'none',
})
// One style sheet: the tokens of the design, then what uses them.
writeFileSync(`${out}/console.css`, readFileSync('src/tokens.css', 'utf8') + readFileSync('src/console.css', 'utf8'))
for (const file of ['index.html', 'icon.svg']) copyFileSync(`src/${file}`, `${out}/${file}`)
// The licenses of what the page contains have to be distributed with it.
const licenses = ['preact', '@preact/signals', '@preact/signals-core'].map((name) => {
  const {version} = JSON.parse(readFileSync(`node_modules/${name}/package.json`))
  return `${name} ${version}\n\n${readFileSync(`node_modules/${name}/LICENSE`, 'utf8')}`
})
writeFileSync(`${out}/licenses.txt`, licenses.join('\n'))
