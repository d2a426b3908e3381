// What the package promises, on vectors that every implementation is tried on.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { RunsealError, inspect, open, verify, verifyText } from 'runseal';

const vectors = new URL('../../../vectors/', import.meta.url);
const folder = (name, as) => {
  const root = new URL(`${name}/`, vectors);
  const all = readdirSync(root, { recursive: true, withFileTypes: true });
  return all.filter((entry) => entry.isFile()).map((entry) => {
    const path = `${entry.parentPath ?? entry.path}/${entry.name}`;
    return [`${as}/${path.slice(root.pathname.length)}`.replaceAll('//', '/'), readFileSync(path)];
  });
};

test('a bundle of files is verified, and a changed byte is named', async () => {
  const entries = folder('run-bundle/ok-upstream/input', 'run');
  const report = await verify(entries);
  assert.equal(report.ok, true);
  assert.deepEqual(report.results.map((result) => [result.path, result.format]), [['run', 'run-bundle']]);
  const changed = entries.map(([path, bytes]) => {
    const copy = Uint8Array.from(bytes);
    if (path.endsWith('RUN_INPUT.json')) copy[copy.length - 2] ^= 1;
    return [path, copy];
  });
  const bad = await verify(Object.fromEntries(changed));
  assert.equal(bad.ok, false);
  assert.ok(bad.results[0].violations.some((found) => found.path === 'RUN_INPUT.json'));
});

test('a document is verified from bytes and from text, at every level', async () => {
  const bytes = readFileSync(new URL('patch/ok-executed/input.json', vectors));
  for (const what of [bytes, bytes.toString(), new Uint8Array(bytes).buffer]) {
    for (const level of ['document', 'integrity', 'form']) {
      const report = await verify(what, { name: 'patch.json', level });
      assert.deepEqual([report.ok, report.level], [true, level]);
    }
  }
});

test('text has the exit code of the command line', async () => {
  const bad = folder('run-bundle/rb5-artifact-changed/input', 'run');
  const { code, text } = await verifyText(bad, { format: 'human' });
  assert.equal(code, 1);
  assert.match(text, /RB5/);
  assert.equal((await verifyText({ 'a.txt': 'x' })).code, 1);
  assert.equal((await verifyText({ 'empty/': '' })).code, 2);
  assert.match((await verifyText(bad, { format: 'junit' })).text, /^<\?xml/);
  assert.equal(JSON.parse((await verifyText(bad, { format: 'sarif' })).text).version, '2.1.0');
});

test('demands that nothing meets are results', async () => {
  const good = folder('run-bundle/ok-upstream/input', 'run');
  assert.equal((await verify(good, { require: ['signed'] })).ok, false);
  assert.equal((await verify(good, { expectFormat: ['pack'] })).ok, false);
  assert.equal((await verify(good, { expect: 'run\n' })).ok, true);
});

test('what something says of itself is told', async () => {
  const told = await inspect(folder('run-bundle/ok-upstream/input', 'run'));
  assert.equal(told.format, 'run-bundle');
  await assert.rejects(inspect({ 'a.txt': 'x' }), RunsealError);
});

test('a wrong request is an error that says what is wrong', async () => {
  for (const [what, options, fault] of [
    [{ '../a': 'x' }, {}, /plain path/],
    [[['a', 'x'], ['a', 'y']], {}, /duplicate path/],
    [{}, {}, /no path/],
    [{ a: 'x' }, { level: 'strict' }, /level/],
    [{ a: 'x' }, { expectFormat: ['x'] }, /not a format/],
    [{ a: 'x' }, { trust: 'not toml' }, /policy|POLICY/],
    [{ a: 5 }, {}, /bytes/],
  ]) {
    await assert.rejects(verify(what, options), (error) => error instanceof RunsealError && fault.test(error.message) && /^[A-Z_]+$/.test(error.code));
  }
});

test('an error has its code and its hint', () => {
  const error = new RunsealError('POLICY: there is no key: trust.toml:3\nhint: docs/trust.md');
  assert.deepEqual([error.code, error.message, error.hint], ['POLICY', 'POLICY: there is no key: trust.toml:3', 'docs/trust.md']);
  const own = new RunsealError('there is no option called levels');
  assert.deepEqual([own.code, own.message, own.hint], ['REQUEST', 'there is no option called levels', undefined]);
});

test('the module imports nothing and answers a wrong address', async () => {
  const bytes = readFileSync(new URL(import.meta.resolve('runseal/runseal.wasm')));
  const module = await WebAssembly.compile(bytes);
  assert.deepEqual(WebAssembly.Module.imports(module), []);
  const { exports } = new WebAssembly.Instance(module, {});
  const answer = exports.verify(12345);
  assert.equal(new DataView(exports.memory.buffer).getUint32(answer, true), 3);
  assert.equal(await open(), await open());
});

test('the same question twice gives the same bytes', async () => {
  const entries = folder('job-bundle/jb4-artifact-changed/input', 'job');
  assert.deepEqual(await verifyText(entries), await verifyText([...entries].reverse()));
});

test('what is misspelt or not there yet is refused', async () => {
  const files = { 'a.json': '{}' };
  for (const options of [{ levels: 'form' }, { Trust: 'x' }, { trust: null }, { trust: 'x', at: new Date('no') }]) {
    await assert.rejects(verify(files, options), RunsealError);
  }
  for (const what of [5, null, Promise.resolve(files), new Blob(['x'])]) {
    await assert.rejects(verify(what), RunsealError);
  }
});
