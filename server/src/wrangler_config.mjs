// wrangler.toml: the service on Cloudflare, as one's own configuration has it. What the project itself needs (classes, their
// migrations, flags) comes from the package, and cannot be forgotten.
import path from 'node:path';
import { bucketBinding, jurisdictionsIn } from './jurisdictions.mjs';
import { PAGE, PRODUCT, WORKER } from './package_files.mjs';

const NAME = 'aptix-edge';
/** The rate limiters' numbers, where the account has no others. */
const RATE_NAMESPACES = { Keys: '1001', Users: '1002' };

/** The first wrangler that knows how long objects keep the code of the version before, and how to leave out queries. */
const KNOWS_NEWER = [4, 141];

/** `wrangler` is the version that reads it; without one, it is not known to be new. */
export function wranglerConfig({ Variables, Rates = {}, Metering, Catalog, Environment, Cloudflare = {} }, wrangler = '0.0') {
  const { Name = NAME, AccountId, Routes, Zone, WorkersDev, CatalogId, FilesBucket, MeteringDataset, RateNamespaces = {}, CpuMs, Logs, Traces, Placement } = Cloudflare;
  const [major, minor] = wrangler.split('.').map(Number);
  const isNewer = major > KNOWS_NEWER[0] || (major === KNOWS_NEWER[0] && minor >= KNOWS_NEWER[1]);
  const name = Environment === undefined ? Name : `${Name}-${Environment}`;
  const route = (pattern) => (pattern.includes('/') ? { pattern, ...(Zone && { zone_name: Zone }) } : { pattern, custom_domain: true });
  const limiter = (binding, kind) =>
    Rates[kind] && { name: binding, namespace_id: RateNamespaces[kind] ?? RATE_NAMESPACES[kind], simple: { limit: Rates[kind].Limit, period: Rates[kind].PeriodS } };
  const limiters = [limiter('RATE_LIMITER', 'Keys'), limiter('USER_RATE_LIMITER', 'Users')].filter(Boolean);
  return [
    `# Made by aptix-edge-server ${PRODUCT.version} from a configuration; change that one.`,
    ...members({
      name,
      account_id: AccountId,
      main: path.join(WORKER, 'index.js'),
      minify: true,
      compatibility_date: PRODUCT.compatibilityDate,
      compatibility_flags: PRODUCT.compatibilityFlags,
      workers_dev: WorkersDev ?? (Routes?.length > 0 ? false : undefined),
      routes: Routes?.map(route),
    }),
    ...table('assets', { directory: PAGE, binding: 'ASSETS', run_worker_first: true, html_handling: 'none', not_found_handling: 'none' }),
    ...table('durable_objects', {
      bindings: PRODUCT.objects.map(([binding, class_name]) => ({ name: binding, class_name })),
      // As long as a turn's alarm waits: what is cut off goes on by it.
      code_update_strategy: isNewer ? { mode: 'deferred', max_delay: 30 } : undefined,
    }),
    ...PRODUCT.migrations.flatMap(([tag, new_sqlite_classes]) => table('[migrations]', { tag, new_sqlite_classes })),
    ...table('[r2_buckets]', { binding: 'FILES', bucket_name: FilesBucket ?? `${name}-files` }),
    ...jurisdictionsIn(Variables.TENANTS).flatMap((jurisdiction) =>
      table('[r2_buckets]', { binding: bucketBinding(jurisdiction), bucket_name: `${FilesBucket ?? `${name}-files`}-${jurisdiction}`, jurisdiction })),
    ...(Catalog || CatalogId ? table('[kv_namespaces]', { binding: 'CATALOG', id: CatalogId }) : []),
    ...limiters.flatMap((one) => table('[ratelimits]', one)),
    ...(Metering ? table('[analytics_engine_datasets]', { binding: 'METERING', dataset: MeteringDataset ?? 'aptix_submissions' }) : []),
    // Signatures of links to files stand in queries, and tickets of watched streams.
    ...table('observability', { enabled: true, redact_query_string: isNewer || undefined }),
    ...(Logs ? table('observability.logs', { enabled: true, invocation_logs: Logs.InvocationLogs, destinations: Logs.Destinations }) : []),
    ...(Traces ? table('observability.traces', { enabled: true, head_sampling_rate: Traces.SamplingRate ?? 1, destinations: Traces.Destinations }) : []),
    ...(CpuMs ? table('limits', { cpu_ms: CpuMs }) : []),
    ...(Placement ? table('placement', { mode: Placement }) : []),
    ...table('vars', Variables),
  ].join('\n') + '\n';
}

const members = (values) => Object.entries(values).filter(([, value]) => value !== undefined).map(([name, value]) => `${name} = ${written(value)}`);
const table = (name, values) => ['', `[${name}]`, ...members(values)];

/** A value in TOML, whose texts are those of JSON. */
function written(value) {
  if (Array.isArray(value)) return `[${value.map(written).join(', ')}]`;
  if (value !== null && typeof value === 'object') return `{ ${members(Object.fromEntries(Object.entries(value).map(([name, each]) => [/^[\w-]+$/.test(name) ? name : JSON.stringify(name), each]))).join(', ')} }`;
  return JSON.stringify(value).replaceAll('\u007f', '\\u007f');
}
