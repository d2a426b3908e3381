// Puts the package together: the module and its caller are kept once, where the command line has them.
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';

const here = (path) => new URL(path, import.meta.url);
mkdirSync(here('dist'), { recursive: true });
const from = {
  'verifier.js': '../../crates/report/src/page/verifier.js',
  'node.js': 'src/node.js',
  'browser.js': 'src/browser.js',
  'index.d.ts': 'src/index.d.ts',
};
writeFileSync(here('dist/runseal.wasm'), gunzipSync(readFileSync(here('../../crates/cli/module/runseal.wasm.gz'))));
for (const [name, source] of Object.entries(from)) copyFileSync(here(source), here(`dist/${name}`));
