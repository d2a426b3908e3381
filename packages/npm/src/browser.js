// runseal in browsers: the module is fetched from beside this file, as bundlers expect it.
import { RunsealError, Verifier } from './verifier.js';

let opened;

/** The verifier, opened once. */
export const open = () =>
  (opened ??= fetch(new URL('./runseal.wasm', import.meta.url))
    .then((response) => {
      if (!response.ok) throw new RunsealError(`the module could not be fetched: ${response.status}`);
      return response.arrayBuffer();
    })
    .then((bytes) => Verifier.from(bytes)));

export const verify = async (what, options) => (await open()).verify(what, options);
export const verifyText = async (what, options) => (await open()).verifyText(what, options);
export const inspect = async (what, options) => (await open()).inspect(what, options);
export { RunsealError, Verifier };
