// Opens pages in Chromium as a person would, and says what happened as one line of JSON a page:
// what the console said, what was asked of the network, what axe finds at serious or worse, what the
// answers at the top say, whether anything lies over them, which elements there are, and whether
// anything is wider than the screen. Usage: look_at_pages.js TOOLS JOBS.json
const { readFileSync } = require('fs');
const path = require('path');
const tools = path.resolve(process.argv[2]);
const { chromium } = require(path.join(tools, 'node_modules/playwright-core'));
const axe = readFileSync(path.join(tools, 'node_modules/axe-core/axe.min.js'), 'utf8');
const jobs = JSON.parse(readFileSync(process.argv[3], 'utf8'));

const look = async (browser, job) => {
  const context = await browser.newContext({
    viewport: { width: job.width || 1280, height: 900 },
    colorScheme: job.dark ? 'dark' : 'light',
    javaScriptEnabled: !job.without_script,
    // axe is put into the page from outside; the page's own policy is looked at in `policy`.
    bypassCSP: !!job.axe,
  });
  const page = await context.newPage();
  page.setDefaultTimeout(60000);
  const said = [];
  const asked = [];
  page.on('console', (message) => said.push(message.text()));
  page.on('pageerror', (error) => said.push(String(error)));
  page.on('dialog', (dialog) => { said.push('dialog: ' + dialog.message()); dialog.dismiss(); });
  page.on('request', (request) => { if (!request.url().startsWith('data:')) asked.push(request.url()); });
  const address = 'file://' + path.resolve(job.page);
  await page.goto(address, { waitUntil: 'load' });
  const seen = { page: job.page, console: said, requests: asked.filter((url) => url !== address) };
  if (job.filter) {
    const box = page.locator('#rules input[type=search]');
    await box.fill(job.filter);
    seen.rules_shown = await page.locator('#rules tbody tr:visible').count();
  }
  if (job.pick) {
    for (const name of job.pick) await page.locator(`tr[data-path="${name}"] .pick`).check();
    seen.compared = await page.locator('#compared').innerText();
  }
  if (job.keys) {
    for (let at = 0; at < job.keys; at += 1) await page.keyboard.press('Tab');
    seen.focus = await page.evaluate(() => document.activeElement.tagName);
  }
  if (!job.without_script) {
    seen.title = await page.title();
    Object.assign(seen, await page.evaluate(() => {
      const answers = [...document.querySelectorAll('#answers .answer')];
      const over = answers.filter((answer) => {
        const box = answer.getBoundingClientRect();
        const top = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
        return !top || !answer.contains(top);
      });
      const names = {};
      for (const node of document.querySelectorAll('*')) names[node.localName] = (names[node.localName] || 0) + 1;
      const handlers = [...document.querySelectorAll('*')].filter((node) =>
        [...node.attributes].some((attribute) => attribute.name.startsWith('on') || attribute.name === 'style'));
      return {
        verdict: document.querySelector('#verdict').innerText,
        answers: answers.map((answer) => answer.querySelector('.word').innerText),
        covered: over.length,
        elements: names,
        handlers: handlers.length,
        marks: document.querySelectorAll('.fault-mark').length,
        broken_images: [...document.images].filter((image) => image.complete && image.naturalWidth === 0).length,
        overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
        hacked: String(window.hacked || ''),
      };
    }));
  }
  if (job.check || job.choose || job.folder || job.drop) {
    if (job.level) await page.locator('#check-level').selectOption(job.level);
    if (job.policy) await page.locator('#check-policy').setInputFiles(job.policy);
    if (job.check) await page.locator('#check-embedded').click();
    if (job.choose) await page.locator('#check-file').setInputFiles(job.choose);
    if (job.folder) await page.locator('#check-folder').setInputFiles(job.folder);
    if (job.drop) {
      const bytes = readFileSync(job.drop).toString('base64');
      await page.evaluate(([name, text]) => {
        const transfer = new DataTransfer();
        transfer.items.add(new File([Uint8Array.from(atob(text), (c) => c.charCodeAt(0))], name));
        document.dispatchEvent(new DragEvent('drop', { dataTransfer: transfer, bubbles: true }));
      }, [path.basename(job.drop), bytes]);
    }
    await page.locator('#check-result .checked').waitFor();
    const textOf = async (name) => (await page.locator(name).count()) ? page.locator(name).textContent() : '';
    seen.checked = await textOf('#check-result .checked');
    seen.checked_class = await page.locator('#check-result .checked').getAttribute('class');
    seen.check_text = await textOf('#check-text');
    seen.check_json = await textOf('#check-json');
    seen.alert = await textOf('#check-alert');
    seen.hacked = await page.evaluate(() => String(window.hacked || ''));
  }
  if (job.axe) {
    await page.evaluate(axe);
    const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
    const grave = found.violations.filter((one) => ['serious', 'critical'].includes(one.impact));
    seen.axe = grave.map((one) => one.id + ': ' + one.nodes.length + ' ' + one.nodes[0].html.slice(0, 160)
      + ' ' + (one.nodes[0].failureSummary || '').slice(0, 300));
  }
  if (job.screenshot) {
    await page.evaluate(() => {
      for (const image of document.images) image.loading = 'eager';
    });
    await page.waitForFunction(() => [...document.images].every((image) => image.complete));
    if (job.scroll) {
      // The part that is asked for, as tall as the picture.
      await page.setViewportSize({ width: job.width || 1280, height: job.height });
      await page.locator(job.scroll).evaluate((node) => node.scrollIntoView({ behavior: 'instant' }));
      await page.screenshot({ path: job.screenshot });
      await context.close();
      return seen;
    }
    // As tall as was asked for; what is beyond the window is not in a picture of it.
    if (job.height) await page.setViewportSize({ width: job.width || 1280, height: job.height });
    await page.screenshot({ path: job.screenshot, fullPage: !job.height });
  }
  await context.close();
  return seen;
};

(async () => {
  const browser = await chromium.launch({
    executablePath: '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
      '--disable-background-networking', '--disable-component-update', '--disable-sync'],
  });
  for (const job of jobs) console.log(JSON.stringify(await look(browser, job)));
  await browser.close();
})().catch((error) => { console.error(error); process.exit(1); });
