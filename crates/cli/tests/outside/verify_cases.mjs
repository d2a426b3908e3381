// Verifies cases by the WebAssembly module, in Node or in Chromium, and says what it answers as one line
// of JSON a case: {"code":…,"text":…}.
// Usage: verify_cases.mjs node|chromium CASES.json MODULE.wasm.gz VERIFIER.js [TOOLS]
import { lstatSync, readFileSync, readdirSync, writeFileSync, mkdtempSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { gunzipSync } from 'node:zlib';

const [where, list, module, script, tools] = process.argv.slice(2);
const cases = JSON.parse(readFileSync(list, 'utf8'));

/** Everything at a name below a root, as the verifier takes it; with what lies beside it. */
const collect = (root, name) => {
  const files = [];
  const add = (below) => {
    const whole = path.join(root, below);
    if (lstatSync(whole).isDirectory()) {
      files.push([`${below}/`, Buffer.alloc(0)]);
      for (const child of readdirSync(whole)) add(`${below}/${child}`);
    } else files.push([below, readFileSync(whole)]);
  };
  // Signatures stand behind the name; large bodies of a recording in a folder of its name.
  const bodies = `${name.replace(/\.json$/, '')}.bodies`;
  for (const beside of readdirSync(root)) {
    if (beside === name || beside.startsWith(`${name}.`) || beside === bodies) add(beside);
  }
  return files;
};

const optionsOf = (one) => {
  const options = { paths: [one.path], level: one.level, format: one.format };
  if (one.trust) {
    options.trust = { name: one.trust, content: readFileSync(path.join(one.root, one.trust), 'utf8') };
    options.at = one.at;
  }
  return options;
};

const inNode = async () => {
  const { Verifier } = await import(pathToFileURL(path.resolve(script)));
  const verifier = await Verifier.from(gunzipSync(readFileSync(module)));
  return async (one) => verifier.verifyText(collect(one.root, one.path), optionsOf(one));
};

const inChromium = async () => {
  const { chromium } = createRequire(import.meta.url)(path.resolve(tools, 'node_modules/playwright-core'));
  const browser = await chromium.launch({
    executablePath: '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
      '--disable-background-networking', '--disable-component-update', '--disable-sync'],
  });
  const page = await (await browser.newContext()).newPage();
  const html = path.join(mkdtempSync(path.join(tmpdir(), 'verify-')), 'page.html');
  writeFileSync(html, '<!doctype html><title>cases</title>');
  await page.goto(pathToFileURL(html).href);
  const text = readFileSync(script, 'utf8') + '\nglobalThis.Verifier = Verifier;\n';
  await page.addScriptTag({ type: 'module', content: text });
  await page.waitForFunction(() => globalThis.Verifier !== undefined);
  await page.evaluate(async (bytes) => {
    globalThis.decode = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    globalThis.verifier = await globalThis.Verifier.from(globalThis.decode(bytes));
  }, gunzipSync(readFileSync(module)).toString('base64'));
  const ask = async (one) => {
    const files = collect(one.root, one.path).map(([name, bytes]) => [name, bytes.toString('base64')]);
    return page.evaluate(([files, options]) => {
      const decoded = files.map(([name, text]) => [name, globalThis.decode(text)]);
      return globalThis.verifier.verifyText(decoded, options);
    }, [files, optionsOf(one)]);
  };
  ask.end = () => browser.close();
  return ask;
};

const ask = await (where === 'node' ? inNode() : inChromium());
const lines = [];
for (const one of cases) {
  try {
    lines.push(JSON.stringify(await ask(one)));
  } catch (error) {
    lines.push(JSON.stringify({ code: -1, text: String(error.message) }));
  }
}
await ask.end?.();
// A pipe takes what it can; the rest follows before the process ends.
process.stdout.write(lines.join('\n') + '\n');
