
'use strict';
(() => {
  const make = (name, text, set) => {
    const node = document.createElement(name);
    if (text) node.textContent = text;
    for (const [key, value] of Object.entries(set || {})) node.setAttribute(key, value);
    return node;
  };
  const on = (node, event, act) => node.addEventListener(event, act);

  // Copying: the buttons exist only where they work.
  if (navigator.clipboard) {
    for (const code of document.querySelectorAll('code.full')) {
      const button = make('button', 'copy', {class: 'copy', type: 'button'});
      on(button, 'click', async () => {
        try {
          await navigator.clipboard.writeText(code.textContent);
          button.textContent = 'copied';
        } catch {
          getSelection().selectAllChildren(code);
          button.textContent = 'selected';
        }
      });
      code.after(button);
    }
  }

  // Filtering the long tables.
  for (const table of document.querySelectorAll('table[data-filter]')) {
    const rows = [...table.tBodies[0].rows];
    if (rows.length < 8) continue;
    const bar = make('div', '', {class: 'tools'});
    const label = make('label', 'Show only ' + table.dataset.filter + ' with');
    const input = make('input', '', {type: 'search', autocomplete: 'off'});
    const shown = make('span', '', {role: 'status', class: 'more'});
    label.append(input);
    bar.append(label, shown);
    table.parentElement.before(bar);
    on(input, 'input', () => {
      const wanted = input.value.toLowerCase();
      let count = 0;
      for (const row of rows) {
        row.hidden = !row.textContent.toLowerCase().includes(wanted);
        if (!row.hidden) count += 1;
      }
      shown.textContent = wanted ? count + ' of ' + rows.length : '';
    });
  }

  // Paper has no folds.
  const folds = () => document.querySelectorAll('details:not([open])');
  let opened = [];
  on(window, 'beforeprint', () => {
    opened = [...folds()];
    for (const fold of opened) fold.open = true;
  });
  on(window, 'afterprint', () => {
    for (const fold of opened) fold.open = false;
    opened = [];
  });

  // A site of many: filters, and two runs side by side.
  const runs = document.getElementById('runs');
  if (!runs) return;
  const rows = [...runs.tBodies[0].rows];
  const bar = document.getElementById('filters');
  const status = make('span', '', {role: 'status', class: 'more'});
  const search = make('input', '', {type: 'search', autocomplete: 'off'});
  const searchLabel = make('label', 'Search');
  searchLabel.append(search);
  bar.append(searchLabel);
  const selects = [];
  for (const [key, title] of [['format', 'Format'], ['intact', 'Intact'], ['signer', 'Signed by'], ['trusted', 'Trusted'], ['outcome', 'Outcome']]) {
    const values = [...new Set(rows.map((row) => row.dataset[key]))].sort();
    if (values.length < 2) continue;
    const label = make('label', title);
    const select = make('select');
    select.append(make('option', 'all', {value: ''}));
    for (const value of values.slice(0, 200)) select.append(make('option', value || '(none)', {value: '=' + value}));
    label.append(select);
    bar.append(label);
    selects.push([key, select]);
  }
  bar.append(status);
  const apply = () => {
    const wanted = search.value.toLowerCase();
    let count = 0;
    for (const row of rows) {
      const fits = selects.every(([key, select]) => !select.value || '=' + row.dataset[key] === select.value);
      row.hidden = !fits || !row.textContent.toLowerCase().includes(wanted);
      if (!row.hidden) count += 1;
    }
    status.textContent = count + ' of ' + rows.length + ' shown';
  };
  on(search, 'input', apply);
  for (const [, select] of selects) on(select, 'change', apply);
  apply();

  const place = document.getElementById('compared');
  const picked = [];
  const valuesOf = (row) => {
    const values = new Map();
    const list = row.querySelector('dl');
    if (!list) return values;
    for (const name of list.querySelectorAll('dt')) values.set(name.textContent, name.nextElementSibling.textContent);
    return values;
  };
  const compare = () => {
    place.replaceChildren();
    if (picked.length < 2) {
      place.append(make('p', picked.length ? 'Pick one more run to compare.' : 'Pick two runs in the list to compare them.', {class: 'more'}));
      return;
    }
    const [a, b] = picked.map((row) => ({name: row.dataset.path, values: valuesOf(row)}));
    const names = [...new Set([...a.values.keys(), ...b.values.keys()])];
    const table = make('table', '', {class: 'compared'});
    const head = table.createTHead().insertRow();
    for (const text of ['', a.name, b.name]) head.append(make('th', text, {scope: 'col'}));
    const body = table.createTBody();
    let different = 0;
    const same = (name) => a.values.get(name) === b.values.get(name);
    names.sort((one, two) => same(one) - same(two));
    for (const name of names) {
      const [one, two] = [a.values.get(name), b.values.get(name)];
      const row = body.insertRow();
      row.append(make('td', name));
      const differs = one !== two;
      if (differs) different += 1;
      for (const value of [one, two]) row.append(make('td', value === undefined ? '—' : value, differs ? {class: 'differs'} : {}));
    }
    const scroll = make('div', '', {class: 'scroll', tabindex: '0', role: 'group', 'aria-label': 'comparison'});
    scroll.append(table);
    place.append(make('p', different + ' of ' + names.length + ' values differ. runseal diff compares the files themselves.'), scroll);
  };
  for (const row of rows) {
    const cell = row.cells[0];
    if (!row.querySelector('dl')) continue;
    const box = make('input', '', {type: 'checkbox', class: 'pick', 'aria-label': 'compare ' + row.dataset.path});
    cell.append(box);
    on(box, 'change', () => {
      if (box.checked) picked.push(row); else picked.splice(picked.indexOf(row), 1);
      if (picked.length > 2) picked.shift().querySelector('.pick').checked = false;
      compare();
    });
  }
  document.getElementById('compare').hidden = false;
  compare();
})();
