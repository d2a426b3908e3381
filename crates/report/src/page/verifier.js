// Calls the verifier's WebAssembly module. Part of every page that checks again, and of the npm package.
// The module imports nothing; what is asked and how it answers is written in docs/wasm.md.
const encoder = new TextEncoder();
const decoder = new TextDecoder();

/**
 * What a request is refused for: a wrong option, a path that cannot be used, or no memory left.
 * An error of the verifier's is `CODE: what is wrong: where`, and a line with a hint: `code` and `hint` are its parts.
 */
export class RunsealError extends Error {
  constructor(text) {
    const [message, ...rest] = text.split('\nhint: ');
    super(message);
    this.name = 'RunsealError';
    this.code = /^([A-Z][A-Z0-9_]+): /.exec(message)?.[1] ?? 'REQUEST';
    this.hint = rest.length > 0 ? rest.join('\nhint: ') : undefined;
  }
}

/** Bytes of whatever was handed over as content. */
const bytesOf = (content) => {
  if (content instanceof Uint8Array) return content;
  if (content instanceof ArrayBuffer) return new Uint8Array(content);
  if (ArrayBuffer.isView(content)) return new Uint8Array(content.buffer, content.byteOffset, content.byteLength);
  if (typeof content === 'string') return encoder.encode(content);
  throw new RunsealError('content is bytes (Uint8Array, ArrayBuffer) or text');
};

/** Files as [path, bytes]; an archive or document alone gets a name. */
const filesOf = (what, name) => {
  if (what instanceof ArrayBuffer || ArrayBuffer.isView(what) || typeof what === 'string') {
    return [[name ?? 'input', bytesOf(what)]];
  }
  if (typeof what !== 'object' || what === null || typeof what.then === 'function' || typeof what.arrayBuffer === 'function') {
    throw new RunsealError('what is verified is bytes, text, or entries of paths and contents that are there already');
  }
  const pairs = typeof what?.[Symbol.iterator] === 'function' ? [...what] : Object.entries(what ?? {});
  return pairs.map((pair) => {
    if (!Array.isArray(pair) || typeof pair[0] !== 'string') {
      throw new RunsealError('entries are pairs of a path and its bytes');
    }
    const [path, content] = pair;
    return [path, path.endsWith('/') ? new Uint8Array() : bytesOf(content)];
  });
};

/** One request as the module reads it: the head's length, the head, the bytes of the files. */
const write = (memory, address, head, files) => {
  const room = new Uint8Array(memory.buffer, address);
  new DataView(memory.buffer).setUint32(address, head.length, true);
  room.set(head, 4);
  let at = 4 + head.length;
  for (const [, bytes] of files) {
    room.set(bytes, at);
    at += bytes.length;
  }
};

const OPTIONS = new Set(['name', 'level', 'paths', 'trust', 'at', 'require', 'expect', 'expectFormat', 'format']);

/** A verifier around a compiled module. */
export class Verifier {
  #module;

  /** From a WebAssembly.Module, which imports nothing. */
  constructor(module) {
    const imports = WebAssembly.Module.imports(module);
    if (imports.length > 0) throw new RunsealError('the module wants something of its host');
    this.#module = module;
  }

  /** From the module's bytes. */
  static async from(bytes) {
    return new Verifier(await WebAssembly.compile(bytes));
  }

  /** The answer to one question, as {code, text}. Each question has memory of its own. */
  ask(ask, what, options = {}) {
    // A demand that is misspelt must not pass for one that is met.
    const unknown = Object.keys(options).find((option) => !OPTIONS.has(option));
    if (unknown !== undefined) throw new RunsealError(`there is no option called ${unknown}`);
    const { name, level, paths, trust, at, require, expect, expectFormat, format } = options;
    if (trust === null) throw new RunsealError('`trust` is a policy, or left out');
    if (at instanceof Date && Number.isNaN(at.getTime())) throw new RunsealError('`at` is not a time');
    const files = filesOf(what, name);
    const head = { ask, level, paths, require, expect, expect_format: expectFormat, format };
    if (trust !== undefined) {
      const policy = typeof trust === 'string' || ArrayBuffer.isView(trust) || trust instanceof ArrayBuffer
        ? { name: 'trust.toml', content: trust } : trust;
      head.paths ??= [...new Set(files.map(([path]) => path.split('/')[0]))].sort();
      files.push([policy.name, bytesOf(policy.content)]);
      if (policy.chain !== undefined) files.push([policy.name + '.chain', bytesOf(policy.chain)]);
      head.trust = policy.name;
      head.at = at instanceof Date ? at.toISOString() : at ?? new Date().toISOString();
    }
    head.files = files.map(([path, bytes]) => [path, bytes.length]);
    const line = encoder.encode(JSON.stringify(head));
    const size = 4 + line.length + files.reduce((sum, [, bytes]) => sum + bytes.length, 0);
    const { exports } = new WebAssembly.Instance(this.#module, {});
    const address = size < 2 ** 32 ? exports.alloc(size) >>> 0 : 0;
    if (address === 0) throw new RunsealError(`there is no memory for ${size} bytes`);
    write(exports.memory, address, line, files);
    let answer;
    try {
      answer = exports.verify(address) >>> 0;
    } catch (error) {
      throw new RunsealError(`the verifier gave up: ${error.message}`);
    }
    const view = new DataView(exports.memory.buffer);
    const code = view.getUint32(answer, true);
    const length = view.getUint32(answer + 4, true);
    const text = decoder.decode(new Uint8Array(exports.memory.buffer, answer + 8, length));
    if (code === 3) throw new RunsealError(text);
    return { code, text };
  }

  /** What `runseal verify --format json` prints, byte by byte, with its exit code. */
  verifyText(what, options = {}) {
    return this.ask('verify', what, options);
  }

  /** The report of `runseal verify`, as an object. */
  verify(what, options = {}) {
    return JSON.parse(this.ask('verify', what, { ...options, format: 'json' }).text);
  }

  /** What something says of itself, as `runseal inspect --format json` does. */
  inspect(what, options = {}) {
    const { code, text } = this.ask('inspect', what, { ...options, format: 'json' });
    if (code !== 0) throw new RunsealError(text);
    return JSON.parse(text);
  }
}
