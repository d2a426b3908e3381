// Makes the pictures of docs/pages: every format, in every state there is a vector of, wide and narrow.
// Usage: node docs/pages/make.mjs RUNSEAL [TOOLS]; needs .ci/page-tools.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const [program, tools = 'target/page-tools'] = process.argv.slice(2);
const pictures = {
  'run-valid': 'run-bundle/ok-recorded/input',
  'run-tampered': 'run-bundle/rb5-artifact-changed/input',
  'run-redacted': 'redacted-bundle/ok-values/input',
  'run-redacted-tampered': 'redacted-bundle/rd3-value-changed/input',
  'job-redacted': 'redacted-bundle/ok-job/input',
  'job-valid': 'job-bundle/ok-handbook/input',
  'job-tampered': 'job-bundle/jb4-artifact-changed/input',
  'pack-redacted': 'redacted-bundle/ok-pack/input',
  'pack-valid': 'pack/ok-executed/input',
  'pack-failed': 'pack/ok-refuse/input',
  'pack-tampered': 'pack/pk14-file-changed/input',
  'context-bundle-valid': 'context-bundle/ok-branching/input.json',
  'context-bundle-tampered': 'context-bundle/bs20-count-wrong/input.json',
  'context-bundle-open': 'context-bundle/ok-questions/input.json',
  'proposal-valid': 'proposal/ok-generated/input.json',
  'proposal-tampered': 'proposal/pr6-content-changed/input.json',
  'patch-valid': 'patch/ok-executed/input.json',
  'patch-tampered': 'patch/ps10-size-wrong/input.json',
  'model-io-valid': 'model-io/ok-record/input.json',
  'model-io-tampered': 'model-io/mi7-response-changed/input.json',
  'runner-valid': 'runner/ok-executed/input.json',
  'runner-tampered': 'runner/rn9-duration-wrong/input.json',
  'evidence-valid': 'evidence/ok-complete/input.json',
  'evidence-failed': 'evidence/ok-failed/input.json',
  'evidence-tampered': 'evidence/ev6-content-changed/input.json',
  'receipt-valid': 'receipt/ok-signed/input.json',
  'receipt-tampered': 'receipt/rc5-content-changed-after-signing/input.json',
  'ledger-valid': 'ledger/ok-chain/input.jsonl',
  'ledger-tampered': 'ledger/ld5-line-changed/input.jsonl',
  'bag-valid': 'bag/ok-two-functions/input',
  'bag-tampered': 'bag/bi11-payload-changed/input',
  'checksums-valid': 'checksums/ok-list/input',
  'checksums-tampered': 'checksums/cs4-file-changed/input',
  'archive-valid': 'archive/ok-zip/input.zip',
  'archive-tampered': 'archive/jb4-artifact-changed-in-a-tar/input.tar',
  'engine-valid': 'engine/ok-sweep/input',
  'engine-tampered': 'engine/en3-code-missing/input',
};
const place = mkdtempSync(path.join(tmpdir(), 'pages-'));
const jobs = [];
const shots = (name, page, extra) => {
  for (const width of [1280, 400]) {
    const screenshot = path.resolve(`docs/pages/${name}-${width}.png`);
    jobs.push({ page: path.join(place, page), width, height: width === 1280 ? 1000 : 1100, screenshot, ...extra });
  }
};
for (const [name, vector] of Object.entries(pictures)) {
  const ending = vector.match(/\.(jsonl?|tar|zip)$/)?.[0] ?? '';
  cpSync(`vectors/${vector}`, path.join(place, name + ending), { recursive: true });
  execFileSync(path.resolve(program), ['report', name + ending, '-o', `${name}.html`], { cwd: place });
  shots(name, `${name}.html`);
}
// A command that fails, kept as what it is; and one that is not the same when it is run again.
const run = (...words) => {
  try {
    return execFileSync(path.resolve(program), words, { cwd: place, stdio: 'ignore' });
  } catch (error) {
    if (error.status !== 1) throw error;
  }
};
writeFileSync(path.join(place, 'fail.sh'), 'echo reading the table\necho "table.csv: no such column: total" >&2\nexit 3\n');
writeFileSync(path.join(place, 'chance.sh'), 'seq 3 > kept.txt\nod -An -N8 -tx1 /dev/urandom > chance.txt\n');
run('record', '--keep-failed', '--run-id', 'run-failed', '--out', 'made', '--', 'sh', 'fail.sh');
run('report', 'made/run-failed', '-o', 'run-failed.html');
shots('run-failed', 'run-failed.html');
run('record', '--run-id', 'chance', '--out', 'made', '--', 'sh', 'chance.sh');
run('replay', 'made/chance', '--report', 'replay-diverged.html');
shots('replay-diverged', 'replay-diverged.html');
shots('replay-differences', 'replay-diverged.html', { scroll: '#differences' });
run('report', '-r', '.', '-o', 'site');
shots('site', 'site/index.html');
execFileSync(path.resolve(program), ['report', 'run-tampered', '--embed', '-o', 'embedded.html'], { cwd: place });
execFileSync(path.resolve(program), ['report', '--verifier-only', '-o', 'verify.html'], { cwd: place });
shots('checked-again', 'embedded.html', { check: true, scroll: '#check' });
shots('verifier', 'verify.html', { folder: path.join(place, 'run-tampered') });
const list = path.join(place, 'jobs.json');
writeFileSync(list, JSON.stringify(jobs));
execFileSync('node', ['crates/cli/tests/outside/look_at_pages.js', tools, list], { stdio: ['ignore', 'ignore', 'inherit'] });
