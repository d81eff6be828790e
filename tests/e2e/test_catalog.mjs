// The keys, the secrets and the catalog that the end-to-end tests give to the Worker.
import { createHash } from 'node:crypto';

/** Must appear in no response. Distinctive, so that a match is no accident. */
export const API_KEY = 'sk-e2e-7f3d-never-shown';
export const TOOL_SECRET = 'tool-secret-52c1-never-shown';
export const FILE_LINK_KEY = 'file-link-key-91d7-never-shown';
export const MODEL = 'e2e-model-9b';
export const BOOT_PROMPT = 'Boot prompt of the end-to-end tests: answer briefly.';

/** The binding `API_KEYS` for bearer keys: `{key: tenant}`. */
export const apiKeys = (tenants) =>
  JSON.stringify(
    Object.entries(tenants).map(([key, Tenant]) => ({
      Id: `id-of-${Tenant}`,
      Tenant,
      Sha256: createHash('sha256').update(key).digest('hex'),
    })),
  );

/** The catalog of the tests; `changes(catalog, {modelUrl, toolUrl})` may alter it in place. */
export function catalogOf({ modelUrl, toolUrl }, changes = () => {}) {
  const catalog = {
    AgentContexts: { default: { BaseUrl: modelUrl, ApiKeySecret: 'OPENAI_API_KEY', Model: MODEL } },
    ConversationContexts: {
      default: { AgentContextId: 'default', BootPrompt: BOOT_PROMPT, Mode: 'general', Tools: [] },
    },
    Modes: [
      { Key: 'general', DisplayName: 'General', WhenToUse: 'For everything else.', Tools: [], IsDefault: true },
      {
        Key: 'ddr_authoring',
        DisplayName: 'DDR Authoring',
        WhenToUse: 'When a design decision record is written.',
        WelcomeMessage: 'Welcome to DDR authoring.',
        Instructions: 'Write in the form of a design decision record.',
        Tools: [],
      },
    ],
    ServerTools: [],
  };
  changes(catalog, { modelUrl, toolUrl });
  return catalog;
}

/** A server tool of the test catalog, served by the tool service at `/name`. */
export const httpTool = (Name, toolUrl, more = {}, http = {}) => ({
  Name,
  Description: `The tool ${Name}.`,
  Parameters: { type: 'object', properties: { q: { type: 'string' } } },
  Http: { Url: toolUrl(`/${Name}`), Headers: { Authorization: 'Bearer ${TOOL_SECRET}' }, TimeoutMs: 5000, ...http },
  ...more,
});

/** A client tool for `ToolsJson`. */
export const clientTool = (name, more = {}) => ({
  type: 'function',
  name,
  description: `The tool ${name}.`,
  parameters: { type: 'object', properties: { path: { type: 'string' } } },
  ...more,
});
