// Texts of humans and models as they are read: from right to left, wide, long, with formulas.
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { withoutBrowser } from './chromium.mjs';
import { assertAccessible, hasStatus, Playground, say } from './playground.mjs';

/** One of each kind that answers have: what the page leaves out of its library must be missed by none. */
const FORMULAS = String.raw`\lim_{x \to 0} \frac{\sin x}{x} = 1, \int_{-\infty}^{\infty} e^{-x^2} \, dx = \sqrt{\pi}, \prod_{k=1}^{n} \binom{n}{k}, \iint \oint \bigcup_i
\begin{pmatrix} a & b \\ c & d \end{pmatrix} \begin{bmatrix} 1 \\ 2 \end{bmatrix} \begin{vmatrix} a \end{vmatrix} \begin{array}{|c|c|} \hline a & b \\ \hline \end{array}
\begin{aligned} a &= b + c \\ &= d \end{aligned}
\begin{align*} a &= b \label{one} \\ c &= d \nonumber \end{align*}
\begin{gather} a \\ b \end{gather}
f(x) = \begin{cases} 1 & x > 0 \\ 0 & \text{otherwise} \end{cases}
\mathbb{R}^n \mathcal{L} \mathbf{x}^\top \mathrm{d}x \mathsf{A} \mathtt{B} \mathfrak{g} \mathscr{F} \boldsymbol{\beta} \bm{x} \operatorname{softmax}(x)_i \arg\max
\vec{v} \cdot \hat{n} \tilde{u} \bar{w} \dot{x} \ddot{y} \overline{AB} \underbrace{a+b}_{n} \overbrace{c}^{m} \widehat{abc} \overrightarrow{AB} f''(x)
\left( \frac{a}{b} \right) \left\{ x \middle| y \right\} \langle \psi | \phi \rangle \lVert y \rVert_2 \lfloor x \rfloor \Big( \bigg) P(A \mid B)
a \equiv b \pmod{n}, n! \approx \left(\frac{n}{e}\right)^n, \sqrt[3]{x}, \dfrac{a}{b} \tfrac{c}{d} \cfrac{1}{1+x}, x_1, \ldots, x_n \cdots \vdots \ddots
\Rightarrow \iff \implies \mapsto \xrightarrow{f} \stackrel{!}{=} \overset{d}{\to} \underset{x}{\min} \forall x \exists y \neg p \land q \therefore A \cup B \setminus D \subseteq \emptyset
\alpha\beta\varepsilon\theta\lambda\varphi\omega\Gamma\Omega \hbar \ell \Re \infty \partial \nabla \times \boxed{x = 5} \cancel{x} \not= \neq \color{red} x \textcolor{blue}{y}
10\,\text{km} \; 5\% \$ \_ \{ \} \text{Größe } ö \textbf{bold} \texttt{code} \phantom{x} \hspace{1em} \quad \substack{i<n \\ j<m} \sideset{}{'}\sum \tag{1}`.split('\n');
const HEBREW = 'שלום עולם';

describe('texts', { skip: withoutBrowser }, () => {
  let playground;

  before(async () => {
    playground = await Playground.start();
  });
  afterEach(() => playground.closePages());
  after(() => playground?.stop());

  test('each text reads in its own direction, code from the left', async () => {
    const page = await playground.page();
    const directions = (place) => place.evaluate((element) => getComputedStyle(element).direction);
    const box = page.getByRole('textbox', { name: 'Message' });
    await box.fill(HEBREW);
    assert.equal(await directions(box), 'rtl');
    const turn = await say(page, `${HEBREW}\n\n- ${HEBREW}\n- in English\n\n\`\`\`js\nlet a = '${HEBREW}';\n\`\`\``);
    await hasStatus(turn, 'completed');
    assert.equal(await directions(turn.locator('.question-bubble p')), 'rtl');
    assert.equal(await directions(page.locator('h1')), 'rtl');
    assert.equal(await directions(page.locator('.session span').first()), 'rtl');
    const answer = turn.locator('.markdown');
    assert.equal(await directions(answer.locator('.block').first()), 'ltr');
    const hebrew = answer.locator('li', { hasText: HEBREW }).last();
    const ends = (place) =>
      place.evaluate((element) => {
        const range = document.createRange();
        range.selectNodeContents(document.createTreeWalker(element, NodeFilter.SHOW_TEXT).nextNode());
        const [text, own] = [range.getBoundingClientRect(), element.getBoundingClientRect()];
        return text.left - own.left > own.right - text.right ? 'right' : 'left';
      });
    assert.equal(await ends(hebrew), 'right');
    assert.equal(await ends(answer.locator('li', { hasText: 'in English' })), 'left');
    assert.equal(await directions(answer.locator('.code')), 'ltr');
    await assertAccessible(page);
  });

  test('a table that is too wide scrolls in itself, without broken words', async () => {
    const page = await playground.page({ viewport: { width: 360, height: 640 } });
    const columns = Array.from({ length: 9 }, (_, at) => `Column_number_${at}`);
    const row = (cells) => `| ${cells.join(' | ')} |`;
    const turn = await say(page, ['A table:', '', row(columns), row(columns.map(() => '---')), row(columns.map((_, at) => `value ${at}`))].join('\n'));
    await hasStatus(turn, 'completed');
    const table = turn.getByRole('group', { name: 'Table' });
    const { width, scrolls, lines } = await table.evaluate((element) => ({
      width: element.getBoundingClientRect().right - innerWidth,
      scrolls: element.scrollWidth > element.clientWidth,
      lines: [...element.querySelectorAll('th')].filter(({ offsetHeight }) => offsetHeight > 45).length,
    }));
    assert.ok(width <= 0 && scrolls, `${width} pixels`);
    assert.equal(lines, 0, 'each name stands in one line');
    assert.equal(await page.evaluate(() => document.querySelector('.conversation').scrollWidth - document.querySelector('.conversation').clientWidth), 0);
    await table.focus();
    await page.keyboard.press('ArrowRight');
    await page.waitForFunction(() => document.querySelector('.table').scrollLeft > 0);
  });

  test('formulas are drawn, money and broken formulas stand as they are written, and none does what a model wants', async () => {
    const page = await playground.page();
    const elsewhere = [];
    page.on('request', (request) => {
      if (!request.url().startsWith(playground.rig.url.href) && !request.url().startsWith('data:')) elsewhere.push(request.url());
    });
    const loaded = () => page.evaluate(() => performance.getEntriesByType('resource').map(({ name }) => name).filter((name) => name.endsWith('.js')).length);
    await hasStatus(await say(page, 'It costs $5 and $10, or $5-$10, in `$x$`.'), 'completed');
    assert.equal(await page.locator('.math').count(), 0);
    const before = await loaded();
    const turn = await say(page, ['Of $E = mc^2$ and \\(a_1 * b_1\\):', '', '$$', '\\frac{-b \\pm \\sqrt{b^2 - 4ac}}{2a}', '$$', '', '\\[ \\sum_{i=1}^n i \\]', '', '| a | b |', '|---|---|', '| a | $x^2$ |', '', 'Broken: $\\frac{1}$, and wide:', '', `$$ ${'a + '.repeat(80)} b $$`, '', 'The end.'].join('\n'));
    await hasStatus(turn, 'completed');
    const answer = turn.locator('.markdown');
    await answer.locator('math').nth(5).waitFor();
    assert.equal(await answer.locator('math').count(), 6);
    assert.ok((await loaded()) > before, 'what draws them comes with the first one');
    assert.deepEqual(await answer.locator('math').first().locator('mi, mn, mo').allTextContents(), ['E', '=', 'm', 'c', '2']);
    assert.equal(await answer.locator('math mfrac').count(), 1);
    assert.ok(await answer.locator('math mfrac').evaluate((fraction) => fraction.getBoundingClientRect().height > 25), 'numerator above denominator');
    await answer.getByText('$\\frac{1}$', { exact: true }).waitFor();
    const wide = answer.getByRole('group', { name: 'Formula' }).last();
    assert.ok(await wide.evaluate(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth), 'a wide one scrolls in itself');
    await assertAccessible(page);
    await answer.locator('math').first().scrollIntoViewIfNeeded();
    await page.shot('desktop-light-formulas');

    const hostile = [
      '$\\href{javascript:alert(1)}{x}$', '$\\includegraphics{https://evil.example/a.png}$', '$\\htmlStyle{position:fixed}{x}$', '$\\htmlId{message}{x}$',
      '$\\text{<img src=x onerror=alert(1)>}$', '$\\def\\a{\\a\\a}\\a$', '$\\label{message} y$', '$\\unicode{x3c}$', '$\\rule{9999em}{9999em}$', '$\\ref{app}$',
    ];
    const evil = await say(page, hostile.join('\n\n'));
    await hasStatus(evil, 'completed');
    await evil.locator('math').nth(1).waitFor();
    await evil.locator('.math[data-drawn]').nth(hostile.length - 1).waitFor();
    const told = await evil.locator('.math').evaluateAll((all) =>
      all.flatMap((each) => [...each.querySelectorAll('*')].filter((element) => (element.namespaceURI !== 'http://www.w3.org/1998/Math/MathML' && element.localName !== 'span') || ['id', 'href', 'src', 'onerror'].some((name) => element.hasAttribute(name))).map(({ outerHTML }) => outerHTML)));
    assert.deepEqual(told, []);
    assert.equal(await evil.getByText('<img src=x onerror=alert(1)>').last().isVisible(), true);
    assert.equal(await page.locator('#message').count(), 1);
    const { width, height } = await evil.locator('.math').nth(8).boundingBox();
    assert.ok(width < 800 && height < 800, `${width} × ${height}`);
    assert.deepEqual(elsewhere, []);
  });

  test('what models write as formulas is what the page can draw', async () => {
    const page = await playground.page();
    const turn = await say(page, FORMULAS.map((tex) => `$$${tex}$$`).join('\n\n'));
    await hasStatus(turn, 'completed');
    await turn.locator('.markdown .math[data-drawn]').nth(FORMULAS.length - 1).waitFor();
    assert.deepEqual(await turn.locator('.math[data-drawn="false"]').allInnerTexts(), []);
  });

  test('code is coloured, in languages that another one contains and inside of others, too', async () => {
    const page = await playground.page();
    const turn = await say(page, ['Of code:', '', '```js', 'function f() { return 1; }', '```', '```c', 'int main(void) { return 0; }', '```', '```css', '.card > a:hover { color: #fff; }', '```', '```html', '<script>function f() { return 1; }</script><style>.a { margin: 1px }</style>', '```', '', 'The end.'].join('\n'));
    await hasStatus(turn, 'completed');
    const code = turn.locator('.markdown code[data-language]');
    const coloured = (at, what) => code.nth(at).locator(`.hljs-${what}`).first().waitFor();
    for (const at of [0, 1, 3]) await coloured(at, 'keyword');
    for (const what of ['selector-class', 'attribute', 'number']) await coloured(2, what);
    for (const what of ['tag', 'attribute']) await coloured(3, what);
    await assertAccessible(page);
  });

  test('a long question is folded, also after a reload, and shown whole by its button', async () => {
    const page = await playground.page();
    const turn = await say(page, Array.from({ length: 60 }, (_, at) => `Line ${at + 1}`).join('\n'));
    await hasStatus(turn, 'completed');
    const height = () => turn.locator('.question-bubble').evaluate(({ offsetHeight }) => offsetHeight);
    const folded = await height();
    assert.ok(folded < 450, `${folded} pixels`);
    await assertAccessible(page);
    await turn.getByRole('button', { name: 'Show all of it' }).click();
    const whole = await height();
    assert.ok(whole > 1200, `${whole} pixels`);
    await turn.getByRole('button', { name: 'Show less' }).click();
    assert.equal(await height(), folded);
    await page.reload();
    await turn.getByRole('button', { name: 'Show all of it' }).waitFor();
    const short = await say(page, 'A short one.');
    assert.equal(await short.getByRole('button', { name: 'Show all of it' }).count(), 0);
  });
});
