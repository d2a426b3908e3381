// How long the WebAssembly module takes beside the command line, on the same bundle.
// Usage: node benches/wasm_verify.mjs RUNSEAL FOLDER [ROUNDS]
// The command line is timed as a process (with --jobs 1 and with all threads), the module from bytes in
// memory to its answer; reading the files from disk is timed apart. Best of the rounds.
import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { Verifier } from '../crates/report/src/page/verifier.js';

const [program, folder, rounds = '5'] = process.argv.slice(2);
const name = path.basename(path.resolve(folder));
const root = path.dirname(path.resolve(folder));
const best = (work) => {
  let least = Infinity;
  let result;
  for (let round = 0; round < Number(rounds); round += 1) {
    const begin = process.hrtime.bigint();
    result = work();
    least = Math.min(least, Number(process.hrtime.bigint() - begin) / 1e6);
  }
  return [least, result];
};

const read = () => readdirSync(path.resolve(folder), { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => {
    const whole = path.join(entry.parentPath ?? entry.path, entry.name);
    return [path.relative(root, whole), readFileSync(whole)];
  });
const [reading, files] = best(read);
const bytes = files.reduce((sum, [, content]) => sum + content.length, 0);
const module = gunzipSync(readFileSync(new URL('../crates/cli/module/runseal.wasm.gz', import.meta.url)));
const begin = process.hrtime.bigint();
const verifier = await Verifier.from(module);
const compiling = Number(process.hrtime.bigint() - begin) / 1e6;
const native = (extra) => best(() => execFileSync(path.resolve(program), ['verify', name, '--format', 'json', ...extra],
  { cwd: root, encoding: 'utf8', maxBuffer: 1 << 30, stdio: ['ignore', 'pipe', 'ignore'] }));
const [alone, text] = native(['--jobs', '1']);
const [threads] = native([]);
verifier.verifyText(files, { paths: [name] });
const [wasm, answer] = best(() => verifier.verifyText(files, { paths: [name] }));
if (answer.text !== text) throw new Error('the answers differ');
const ms = (value) => `${value.toFixed(1)} ms`;
console.log(`${files.length} files, ${bytes} bytes; module ${module.length} bytes, compiled in ${ms(compiling)}`);
console.log(`native, one thread: ${ms(alone)}; native, all threads: ${ms(threads)}`);
console.log(`wasm in Node ${process.version}: ${ms(wasm)} (and ${ms(reading)} to read the files)`);
console.log(`wasm is ${(wasm / alone).toFixed(2)} x native on one thread, ${((wasm + reading) / alone).toFixed(2)} x with reading`);
