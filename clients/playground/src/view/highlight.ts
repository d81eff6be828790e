// Colours for code. A part of its own, fetched with the first code that is shown.
import type { HLJSApi, Language } from 'highlight.js';
import core from 'highlight.js/lib/core';
import bash from 'highlight.js/lib/languages/bash';
import cpp from 'highlight.js/lib/languages/cpp';
import csharp from 'highlight.js/lib/languages/csharp';
import diff from 'highlight.js/lib/languages/diff';
import go from 'highlight.js/lib/languages/go';
import ini from 'highlight.js/lib/languages/ini';
import java from 'highlight.js/lib/languages/java';
import json from 'highlight.js/lib/languages/json';
import kotlin from 'highlight.js/lib/languages/kotlin';
import markdown from 'highlight.js/lib/languages/markdown';
import php from 'highlight.js/lib/languages/php';
import python from 'highlight.js/lib/languages/python';
import ruby from 'highlight.js/lib/languages/ruby';
import rust from 'highlight.js/lib/languages/rust';
import sql from 'highlight.js/lib/languages/sql';
import swift from 'highlight.js/lib/languages/swift';
import typescript from 'highlight.js/lib/languages/typescript';
import xml from 'highlight.js/lib/languages/xml';
import yaml from 'highlight.js/lib/languages/yaml';

/** The library's own names each property and element of CSS, which is a tenth of this part. Their places tell them, too. */
const css = ({ APOS_STRING_MODE, C_BLOCK_COMMENT_MODE, QUOTE_STRING_MODE }: HLJSApi): Language => ({
  contains: [
    C_BLOCK_COMMENT_MODE,
    APOS_STRING_MODE,
    QUOTE_STRING_MODE,
    { scope: 'keyword', begin: /@[\w-]+|!important/ },
    { scope: 'attribute', begin: /[\w-]+(?=\s*:[^{}]*[;}])/ },
    { scope: 'number', begin: /#[\da-f]{3,8}(?=[\s,;)}])|(?<![\w-])[-+]?(?:\d*\.)?\d+(?:[a-z]+|%)?/i },
    { scope: 'selector-class', begin: /[.:]{1,2}[a-z][\w-]*(?=[^;{}]*\{)/i },
    { scope: 'selector-id', begin: /#[a-z][\w-]*(?=[^;{}]*\{)/i },
  ],
});

const languages = {
  bash, cpp, csharp, css, diff, go, ini, java, json, kotlin, markdown, php, python, ruby, rust, sql, swift, typescript, xml,
  yaml,
  // Each is read as the one that extends it, whose rules hold its own.
  c: cpp,
  javascript: typescript,
};
const aliases = { c: ['h'], javascript: ['js', 'jsx', 'mjs', 'cjs'], typescript: ['ts', 'tsx', 'mts', 'cts'], cpp: ['cc', 'c++', 'h++', 'hpp', 'hh', 'hxx', 'cxx'] };
for (const [name, language] of Object.entries(languages)) core.registerLanguage(name, language);
for (const [languageName, names] of Object.entries(aliases)) core.registerAliases(names, { languageName });

/**
 * What reads one piece of code behind the other, and gives each as the library writes it: `span` elements with classes, and
 * text. `undefined` for a language that is not known.
 */
export function reader(language: string): ((piece: string) => string) | undefined {
  const name = language === 'aptix-json' ? 'json' : language;
  if (!core.getLanguage(name)) return undefined;
  let continuation: unknown;
  return (piece) => {
    const options = { language: name, ignoreIllegals: true, continuation };
    const { value, _top } = core.highlight(piece, options);
    continuation = _top;
    return value;
  };
}

const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#x27': "'" };

/** A piece as nodes; no text of a model is read as HTML. */
export function nodesOf(html: string): Node[] {
  const root = document.createElement('span');
  let now: Element = root;
  for (const [, opened, closed, text] of html.matchAll(/<span class="([^"]*)">|(<\/span>)|([^<]+)/g)) {
    if (opened !== undefined) {
      const span = document.createElement('span');
      span.className = opened;
      now.append(span);
      now = span;
    } else if (closed) now = now.parentElement ?? root;
    else now.append(text!.replace(/&(amp|lt|gt|quot|#x27);/g, (_, name: string) => ENTITIES[name]!));
  }
  return [...root.childNodes];
}
