// The types of the wire, src/openapi.ts, made from the document that the service publishes.
// `UPDATE_TYPES=1 node --test clients/typescript/test/types.test.mjs` writes them anew.
import openapiTS, { astToString } from 'openapi-typescript';

const HEAD = '// Generated from GET /openapi.json by openapi_types.mjs; not edited by hand.\n';

export const typesOf = async (document) => HEAD + astToString(await openapiTS(document));
