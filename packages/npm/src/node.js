// runseal in Node: the module is read from beside this file.
import { readFile } from 'node:fs/promises';
import { RunsealError, Verifier } from './verifier.js';

let opened;

/** The verifier, opened once. */
export const open = () =>
  (opened ??= readFile(new URL('./runseal.wasm', import.meta.url)).then((bytes) => Verifier.from(bytes)));

export const verify = async (what, options) => (await open()).verify(what, options);
export const verifyText = async (what, options) => (await open()).verifyText(what, options);
export const inspect = async (what, options) => (await open()).inspect(what, options);
export { RunsealError, Verifier };
