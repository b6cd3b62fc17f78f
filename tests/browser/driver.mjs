// A browser that is told what to do by a test in another language: a command as JSON on each line of standard input, an answer on each
// line of standard output. `node driver.mjs MODULES CHROMIUM`; MODULES is where playwright-core and axe-core are installed.
import {createRequire} from 'node:module';
import {createInterface} from 'node:readline';
import {pathToFileURL} from 'node:url';

const [modules, executablePath] = process.argv.slice(2);
const require = createRequire(pathToFileURL(`${modules}/`));
const {chromium} = require('playwright-core');
const axe = require.resolve('axe-core/axe.min.js');
// Milliseconds to wait for what has to come.
const LONG = 120_000;

const browser = await chromium.launch({executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage'], timeout: LONG});
let context = null;
let page = null;
let problems = [];
let requested = [];

const commands = {
  /** A new window, with nothing of what another one stored. */
  async open({url, width = 1280, height = 900, scheme = 'light'}) {
    await context?.close();
    context = await browser.newContext({viewport: {width, height}, colorScheme: scheme});
    context.setDefaultTimeout(LONG);
    page = await context.newPage();
    problems = [];
    requested = [];
    page.on('console', message => message.type() === 'error' && problems.push(`${message.text()} ${message.location().url}`));
    page.on('pageerror', error => problems.push(String(error.stack ?? error)));
    page.on('request', request => requested.push(request.url()));
    await page.goto(url);
  },
  async goto({url}) {
    await page.goto(url);
  },
  async resize({width, height = 900}) {
    await page.setViewportSize({width, height});
  },
  /** Waits until the selected element, or the page, shows the text; answers with the element's text. */
  async sees({text, selector = 'body', seconds = LONG / 1000}) {
    const element = page.locator(selector).filter({hasText: text}).first();
    await element.waitFor({state: 'visible', timeout: seconds * 1000});
    return element.innerText();
  },
  async gone({text, selector, seconds = LONG / 1000}) {
    await page.locator(selector).filter({hasText: text}).first().waitFor({state: 'hidden', timeout: seconds * 1000});
  },
  async click({selector, text}) {
    await (text ? page.locator(selector).filter({hasText: text}) : page.locator(selector)).first().click({timeout: LONG});
  },
  async fill({selector, text}) {
    await page.locator(selector).first().fill(text, {timeout: LONG});
  },
  async choose({selector, value}) {
    await page.locator(selector).first().selectOption(value, {timeout: LONG});
  },
  async press({key, selector}) {
    if (selector) await page.locator(selector).first().press(key, {timeout: LONG});
    else await page.keyboard.press(key);
  },
  async evaluate({expression}) {
    return page.evaluate(expression);
  },
  async screenshot({path, full = true}) {
    await page.screenshot({path, fullPage: full});
  },
  /** What axe-core finds serious or critical: [{rule, impact, where}]. */
  async audit() {
    // Not as a <script>: the page's policy would rightly refuse it.
    if (!(await page.evaluate('"axe" in window'))) await page.evaluate((await import('node:fs')).readFileSync(axe, 'utf8'));
    const {violations} = await page.evaluate('axe.run({resultTypes: ["violations"]})');
    return violations.filter(found => found.impact === 'serious' || found.impact === 'critical').flatMap(found => found.nodes.slice(0, 3).map(
      node => ({rule: found.id, impact: found.impact, where: node.target.join(' '), html: node.html.slice(0, 200), why: node.failureSummary})));
  },
  /** How far the page scrolls sideways, or a figure of its head leaves its box, in pixels, once what is drawn has had the time to follow the page's width. */
  async overflow() {
    const measure = "Math.max(...[document.documentElement, ...document.querySelectorAll('.stat')].map(each => each.scrollWidth - each.clientWidth))";
    // Not waitForFunction, which evaluates the text in the page at its second try: the page's policy refuses that, and says so.
    const deadline = Date.now() + LONG;
    while ((await page.evaluate(measure)) > 0 && Date.now() < deadline) await page.waitForTimeout(50);
    return page.evaluate(measure);
  },
  /** What the page complained about since it was opened, and what it asked for. */
  async complaints() {
    return {problems, requested};
  },
  /** Chromium's counters before and after so many seconds, of one session: they begin anew with each. */
  async measure({seconds}) {
    const session = await context.newCDPSession(page);
    await session.send('Performance.enable');
    const read = async () => Object.fromEntries((await session.send('Performance.getMetrics')).metrics.map(({name, value}) => [name, value]));
    const before = await read();
    await page.waitForTimeout(seconds * 1000);
    const after = await read();
    await session.detach();
    return {before, after};
  },
};

for await (const line of createInterface({input: process.stdin})) {
  const {command, ...options} = JSON.parse(line);
  try {
    console.log(JSON.stringify({result: (await commands[command](options)) ?? null}));
  } catch (error) {
    console.log(JSON.stringify({error: String(error.message ?? error)}));
  }
}
await browser.close();
