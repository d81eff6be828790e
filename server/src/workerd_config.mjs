// config.capnp: how workerd serves the built Worker behind the front. Made anew for each start.
import path from 'node:path';
import { FILE_STORE, PAGE, PRODUCT, WORKER, folderOf } from './package_files.mjs';

/** Cap'n Proto writes texts as JSON does, but for the characters that C knows otherwise. */
const quoted = (value) => JSON.stringify(value).replace(/\\u([0-9a-f]{4})/g, (_, digits) => [...Buffer.from(String.fromCharCode(parseInt(digits, 16)))].map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join(''));
const list = (items) => `[\n    ${items.join(',\n    ')},\n  ]`;

/**
 * `address` is where it listens, `control` the path of the socket for its own process, `objects` and `catalog` are folders
 * (`catalog` may be absent), `names` those of the variables, which workerd
 * takes from its environment, `network` who may be asked, `front` what the front has to know. With `outbound`, the address of an
 * HTTP proxy, that one is asked for everything, and there is no other network.
 */
export function workerdConfig({ address, control, objects, catalog, names, network, outbound, front }) {
  const classes = [...PRODUCT.objects, ['FILE_STORE', FILE_STORE]];
  const module = (name, kind, file) => `(name = ${quoted(name)}, ${kind} = embed ${quoted(path.join(WORKER, file))})`;
  const bindings = [
    ...classes.map(([binding, className]) => `(name = ${quoted(binding)}, durableObjectNamespace = ${quoted(className)})`),
    ...names.map((name) => `(name = ${quoted(name)}, fromEnvironment = ${quoted(name)})`),
    ...(catalog ? [`(name = "CATALOG", kvNamespace = "catalog")`] : []),
    `(name = "ASSETS", service = "page")`,
    `(name = "FRONT", json = ${quoted(JSON.stringify(front))})`,
  ];
  const services = [
    `(name = "aptix-edge", worker = .aptixEdge)`,
    `(name = "page", worker = .page)`,
    `(name = "page-files", disk = (path = ${quoted(PAGE)}))`,
    outbound
      ? `(name = "internet", external = (address = ${quoted(outbound)}, http = (style = proxy)))`
      : `(name = "internet", network = (allow = ${network === 'any' ? '["public", "private"]' : '["public"]'}, tlsOptions = (trustBrowserCas = true)))`,
    `(name = "objects", disk = (path = ${quoted(objects)}, writable = true))`,
    ...(catalog ? [`(name = "catalog", disk = (path = ${quoted(catalog)}))`] : []),
  ];
  return `# Made by aptix-edge-server for one start; what is written here is lost at the next one.
using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = ${list(services)},
  sockets = ${list([
    `(name = "http", address = ${quoted(address)}, http = (forwardedProtoHeader = "X-Forwarded-Proto"), service = "aptix-edge")`,
    `(name = "control", address = ${quoted(`unix:${control}`)}, http = (), service = (name = "aptix-edge", entrypoint = "Control"))`,
  ])},
);

const aptixEdge :Workerd.Worker = (
  modules = ${list([
    module('front.js', 'esModule', 'front.js'),
    module('index.js', 'esModule', 'index.js'),
    module('index_bg.wasm', 'wasm', 'index_bg.wasm'),
  ])},
  compatibilityDate = ${quoted(PRODUCT.compatibilityDate)},
  compatibilityFlags = [${PRODUCT.compatibilityFlags.map(quoted).join(', ')}],
  bindings = ${list(bindings)},
  durableObjectNamespaces = ${list(classes.map(([, className]) => `(className = ${quoted(className)}, uniqueKey = ${quoted(folderOf(className))}, enableSql = true)`))},
  durableObjectStorage = (localDisk = "objects"),
);

const page :Workerd.Worker = (
  modules = [${module('page.js', 'esModule', 'page.js')}],
  compatibilityDate = ${quoted(PRODUCT.compatibilityDate)},
  bindings = [(name = "FOLDER", service = "page-files")],
);
`;
}
