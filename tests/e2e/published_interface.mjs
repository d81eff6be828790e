// The document of GET /openapi.json: it is checked against the standard, and responses are checked against it.
// Owns finding the schema of a response; the tests judge the content.
import assert from 'node:assert/strict';
import { registerSchema, validate } from '@hyperjump/json-schema/openapi-3-1';
import { DETAILED } from '@hyperjump/json-schema/experimental';

const STANDARD = 'https://spec.openapis.org/oas/3.1/schema-base';
/** By text: a document is read once, whichever Workers publish it. */
const read = new Map();

export class PublishedInterface {
  #document;
  #base;
  #validators = new Map();

  /** Validates a document, given as text; fails unless it is OpenAPI 3.1. */
  static of(text) {
    if (!read.has(text)) read.set(text, PublishedInterface.#read(JSON.parse(text)));
    return read.get(text);
  }

  static async #read(document) {
    const verdict = await validate(STANDARD, document, DETAILED);
    assert.ok(verdict.valid, `not OpenAPI 3.1: ${faults(verdict)}`);
    const published = new PublishedInterface();
    published.#document = document;
    published.#base = `https://published.test/${read.size}`;
    registerSchema(document, published.#base, STANDARD);
    return published;
  }

  /** The endpoints: `['GET /health', …]`. */
  get endpoints() {
    return Object.entries(this.#document.paths).flatMap(([path, operations]) =>
      Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
    );
  }

  /** Fails when a response is not one that the document promises for its endpoint. */
  async check({ method, path, status, type, text }) {
    const where = `${method} ${path} ${status}`;
    const endpoint = this.#endpointOf(path);
    const operation = endpoint && this.#document.paths[endpoint][method.toLowerCase()];
    // An unknown endpoint gets the common failure.
    const failure = '#/components/responses/Failure/content/application~1json/schema';
    const [pointer, content] = operation ? this.#promised(endpoint, method.toLowerCase(), status) : [failure, undefined];
    if (type === null) return assert.ok(method === 'HEAD' || status === 204, `no content type: ${where}`);
    const media = type.split(';')[0];
    if (operation && !content) return assert.equal(text, '', `${where} has a body, and none is published`);
    if (content && '*/*' in content) return;
    if (content) assert.ok(media in content, `${where} is ${media}, which is not published`);
    if (media === 'text/event-stream') {
      for (const [, name, data] of text.matchAll(/^event: (.*)\n(?:id: .*\n)?data: (.*)$/gm)) await this.#hold(this.#eventSchema(name), data, where);
      return;
    }
    const schema = operation && content ? `${pointer}/content/application~1json/schema` : failure;
    await this.#hold(schema, text, where);
  }

  /** Where the document has the data of an event. */
  #eventSchema(name) {
    const events = this.#document.components.schemas.EventStream.contentSchema.items.oneOf;
    const known = events.find(({ properties }) => properties.event.const === name);
    assert.ok(known, `the event ${name} is not published`);
    return known.properties.data.contentSchema.$ref;
  }

  async #hold(pointer, text, where) {
    const verdict = (await this.#validator(pointer))(JSON.parse(text), DETAILED);
    assert.ok(verdict.valid, `${where} is not as published: ${faults(verdict)}\n${text.slice(0, 2000)}`);
  }

  #endpointOf(target) {
    const segments = target.split('?')[0].split('/');
    return Object.keys(this.#document.paths).find((path) => {
      const parts = path.split('/');
      return parts.length === segments.length && parts.every((part, i) => part.startsWith('{') || part === segments[i]);
    });
  }

  #promised(endpoint, method, status) {
    const { responses } = this.#document.paths[endpoint][method];
    const key = [`${status}`, `${`${status}`[0]}XX`].find((known) => known in responses);
    assert.ok(key, `${method} ${endpoint} answers ${status}, which is not published`);
    const escaped = endpoint.replaceAll('~', '~0').replaceAll('/', '~1');
    let pointer = `#/paths/${escaped}/${method}/responses/${key}`;
    let response = responses[key];
    if (response.$ref) {
      pointer = response.$ref;
      response = pointer.slice(2).split('/').reduce((node, part) => node[part], this.#document);
    }
    return [pointer, response.content];
  }

  async #validator(pointer) {
    if (!this.#validators.has(pointer)) {
      this.#validators.set(pointer, await validate(`${this.#base}${pointer.replaceAll('{', '%7B').replaceAll('}', '%7D')}`));
    }
    return this.#validators.get(pointer);
  }
}

function faults(verdict) {
  const leaves = [];
  const walk = ({ errors = [], instanceLocation, absoluteKeywordLocation }) => {
    if (errors.length === 0) leaves.push(`${instanceLocation} breaks ${absoluteKeywordLocation}`);
    errors.forEach(walk);
  };
  (verdict.errors ?? []).forEach(walk);
  return leaves.slice(0, 20).join('; ');
}
