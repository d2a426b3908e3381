// The part of the page that checks again: runs the module over what the page carries, or over files
// that somebody chose or dropped. Texts from outside only ever become text nodes.
const section = document.getElementById('check');
const byId = (id) => document.getElementById(id);
const make = (name, text, set) => {
  const node = document.createElement(name);
  if (text) node.textContent = text;
  for (const [key, value] of Object.entries(set || {})) node.setAttribute(key, value);
  return node;
};
const MOST = 1 << 30;

const decode = (text) => {
  const raw = atob(text.trim());
  const bytes = new Uint8Array(raw.length);
  for (let at = 0; at < raw.length; at += 1) bytes[at] = raw.charCodeAt(at);
  return bytes;
};

let opened;
const unpack = (bytes) =>
  new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))).arrayBuffer();
const verifier = () => (opened ??= unpack(decode(byId('runseal-module').textContent)).then((bytes) => Verifier.from(bytes)));

// What reorders or hides text is written out, as everywhere on this page.
const HIDDEN = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/gu;
const reveal = (text) => text.replace(HIDDEN, (found) => `\\u{${found.codePointAt(0).toString(16)}}`);

const policyFile = async () => {
  const file = byId('check-policy').files[0];
  return file ? { name: file.name, content: await file.arrayBuffer() } : undefined;
};

// What runs end with that did what they were to do. Everything else is for people to judge.
const GOOD = new Set(['succeeded', 'accepted', 'complete', 'completed', 'SUCCESS', 'BUNDLE']);
const SHOWN = 5;

/** What was checked, each with how what it records ended. */
const named = (results) => {
  const names = results.slice(0, SHOWN).map(({ path, outcome }) => (outcome ? `${path} (outcome: ${outcome})` : path));
  if (results.length > SHOWN) names.push(`${results.length - SHOWN} more`);
  return reveal(names.join(', '));
};

/** Signatures beside a chosen folder are out of its reach. */
const unseen = (report, isFolder) => isFolder
  && report.results.some(({ path, signed }) => signed === 'unsigned' && !path.includes('/'));

// Signatures that speak for something, or of which there are none.
const SOUND = new Set([undefined, 'unsigned', 'signed']);

/** Whether nothing that was asked, here or when the page was made, has another answer than a good one. */
const isAllGood = (report, hasPolicy, isEmbedded) => report.level !== 'document'
  && (hasPolicy || !isEmbedded || section.dataset.trust === undefined)
  && report.results.every(({ outcome, signed }) => (!outcome || GOOD.has(outcome)) && SOUND.has(signed));

const show = (answer, json, { isEmbedded, isFolder, hasPolicy }) => {
  const result = byId('check-result');
  const report = JSON.parse(json.text);
  const holds = answer.code === 0;
  const isGood = holds && isAllGood(report, hasPolicy, isEmbedded);
  const word = holds ? '✓ Everything that was found holds' : answer.code === 1
    ? '✗ Something does not hold' : '✗ Something could not be checked';
  const said = [`${word}: ${report.results.length} checked here, at level ${report.level}: ${named(report.results)}.`];
  const isOther = !isEmbedded && section.dataset.intact !== undefined;
  if (isOther) said.push('That is what was handed over, and not what this page is about.');
  if (unseen(report, isFolder)) {
    said.push('What is called unsigned may be signed all the same: signatures lie beside a folder, and only the folder was handed over.');
  }
  const tone = !holds ? 'bad' : isGood && !isOther ? 'good' : 'neutral';
  const line = make('p', said.join(' '), { class: `checked ${tone}` });
  const text = make('pre', reveal(answer.text), { tabindex: '0', id: 'check-text' });
  const fold = make('details');
  fold.append(make('summary', 'The same as JSON'), make('pre', reveal(json.text), { tabindex: '0', id: 'check-json' }));
  result.replaceChildren(line, text, fold);
  const old = byId('check-alert');
  if (old) old.remove();
  // Another level, or a policy, may well have another answer than the page.
  const isSameQuestion = isEmbedded && !hasPolicy && report.level === section.dataset.level;
  if (isSameQuestion && String(holds) !== section.dataset.intact) {
    const alert = make('p', `Checked again here, the embedded files ${holds ? 'hold' : 'do not hold'}, though this page `
      + `says that they ${holds ? 'do not' : 'do'}: page and files do not belong together.`,
      { id: 'check-alert', class: 'alert', role: 'alert' });
    document.querySelector('main').prepend(alert);
  }
};

// What was asked last: only its answer is shown, and it is asked again when the level or the policy changes.
let last;
const run = async (collect, isEmbedded) => {
  const asked = { collect, isEmbedded };
  last = asked;
  const result = byId('check-result');
  result.replaceChildren(make('p', 'Checking…'));
  await new Promise((done) => setTimeout(done, 30));
  try {
    const { files, paths, isFolder } = await collect();
    const trust = await policyFile();
    const options = { level: byId('check-level').value, paths, trust };
    const module = await verifier();
    if (last !== asked) return;
    show(module.verifyText(files, { ...options, format: 'human' }),
      module.verifyText(files, { ...options, format: 'json' }), { isEmbedded, isFolder, hasPolicy: trust !== undefined });
  } catch (error) {
    if (last !== asked) return;
    result.replaceChildren(make('p', `✗ It could not be checked: ${reveal(String(error.message || error))}`,
      { class: 'checked bad' }));
  }
};
const again = () => { if (last) run(last.collect, last.isEmbedded); };

const chosen = async (list, isFolder) => {
  const files = [];
  let size = 0;
  for (const [path, file] of list) {
    size += file.size;
    if (size > MOST) throw new RunsealError('more than 1 GiB is for the command line: runseal verify');
    files.push([path, new Uint8Array(await file.arrayBuffer())]);
  }
  if (files.length === 0) throw new RunsealError('no file was handed over');
  return { files, isFolder };
};

/** Everything below a handle that was dropped. */
const walk = async (handle, path, list) => {
  if (handle.kind === 'file') list.push([path, await handle.getFile()]);
  else for await (const [name, child] of handle.entries()) await walk(child, `${path}/${name}`, list);
};

const dropped = async (items, files) => {
  const list = [];
  const handles = await Promise.all(items);
  if (handles.length > 0 && handles.every(Boolean)) {
    for (const handle of handles) await walk(handle, handle.name, list);
  } else {
    for (const file of files) list.push([file.name, file]);
  }
  return chosen(list, handles.some((handle) => handle?.kind === 'directory'));
};

byId('check-tools').hidden = false;
byId('check-needs-script').remove();
const embedded = byId('check-embedded');
if (embedded) {
  embedded.addEventListener('click', () => run(async () => {
    const { files, paths } = JSON.parse(byId('runseal-bundle').textContent);
    return { paths, files: files.map(([path, text]) => [path, decode(text)]) };
  }, true));
}
byId('check-policy').addEventListener('change', again);
byId('check-level').addEventListener('change', again);
byId('check-file').addEventListener('change', (event) => {
  const files = [...event.target.files];
  run(() => chosen(files.map((file) => [file.name, file])));
});
byId('check-folder').addEventListener('change', (event) => {
  const files = [...event.target.files];
  run(() => chosen(files.map((file) => [file.webkitRelativePath, file]), true));
});
document.addEventListener('dragover', (event) => event.preventDefault());
document.addEventListener('drop', (event) => {
  event.preventDefault();
  const { items, files } = event.dataTransfer;
  const handles = [...items].filter((item) => item.kind === 'file' && item.getAsFileSystemHandle)
    .map((item) => item.getAsFileSystemHandle().catch(() => null));
  const kept = [...files];
  run(() => dropped(handles, kept));
});
