/** Bytes, or text that is taken as UTF-8. */
export type Content = Uint8Array | ArrayBuffer | ArrayBufferView | string;

/** Files by their paths; a path that ends with `/` is an empty folder. */
export type Entries = Iterable<readonly [path: string, content: Content]> | Readonly<Record<string, Content>>;

/** How much is checked: what documents demand, what can be computed again too, the stored form too. */
export type Level = 'document' | 'integrity' | 'form';

/** A trust policy (docs/trust.md), with the chain of its versions where there is one. */
export interface Policy {
  name: string;
  content: Content;
  chain?: Content;
}

export interface Options {
  /** What an archive or document handed over as bytes is called. Its ending has to fit its content. */
  name?: string;
  /** `integrity` where not said, as the command line. */
  level?: Level;
  /** What is verified of the entries; everything at the top where not said. `a.zip!/run` looks inside. */
  paths?: readonly string[];
  /** The policy that must trust who signed. */
  trust?: Content | Policy;
  /** When the policy is asked; now where not said. */
  at?: string | Date;
  /** A signature that holds, and accepted packs, may be demanded. */
  require?: readonly ('signed' | 'accepted')[];
  /** Paths, ids or formats that must be there, one a line. */
  expect?: string;
  /** Formats that must be there. */
  expectFormat?: readonly string[];
}

export interface TextOptions extends Options {
  format?: 'json' | 'human' | 'sarif' | 'junit';
}

export interface Violation {
  rule_id: string;
  message: string;
  path?: string;
  [member: string]: unknown;
}

export interface Result {
  path: string;
  ok: boolean;
  format?: string;
  signed?: string;
  violations?: Violation[];
  /** Why it could not be checked. */
  reason?: string;
  [member: string]: unknown;
}

/** What `runseal verify --format json` says (schema: `runseal schema report`). */
export interface Report {
  ok: boolean;
  level: Level;
  checked: number;
  results: Result[];
  [member: string]: unknown;
}

/** The answer as text, and the command's exit code: 0 holds, 1 does not, 2 could not be read. */
export interface Answer {
  code: 0 | 1 | 2;
  text: string;
}

/** What is thrown if a request is wrong or memory runs out; a bundle that does not hold is a report. */
export class RunsealError extends Error {
  /** A stable name, in capitals, as the command line has it; `REQUEST` if the request itself is wrong. */
  readonly code: string;
  /** What to do about it, if anything is known. */
  readonly hint: string | undefined;
}

export class Verifier {
  constructor(module: WebAssembly.Module);
  static from(bytes: BufferSource): Promise<Verifier>;
  verify(what: Content | Entries, options?: Options): Report;
  verifyText(what: Content | Entries, options?: TextOptions): Answer;
  inspect(what: Content | Entries, options?: Options): Record<string, unknown>;
}

/** Opens the module that comes with the package; once, however often it is called. */
export function open(): Promise<Verifier>;
export function verify(what: Content | Entries, options?: Options): Promise<Report>;
export function verifyText(what: Content | Entries, options?: TextOptions): Promise<Answer>;
export function inspect(what: Content | Entries, options?: Options): Promise<Record<string, unknown>>;
