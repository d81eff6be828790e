// The Worker under load: a key for each tenant, responses that are deleted with their session, and a tool `look` that every
// mode offers. Owns the rig of the programs in this folder; what their clients do is their own.
import { setTimeout as pause } from 'node:timers/promises';
import { Rig, apiKeys, httpTool } from '../e2e/harness.mjs';

/** The key of a tenant. */
export const keyOf = (tenant) => `key-${tenant}`;

/** Starts the Worker for these tenants before the model service `model`, with an alarm every `alarmMs`; `more` goes to the rig. */
export async function loadedRig(model, tenants, alarmMs, more = {}) {
  const keys = apiKeys(Object.fromEntries(tenants.map((tenant) => [keyOf(tenant), tenant])));
  const rig = new Rig({
    ...more,
    vars: { AUTH: undefined, API_KEYS: keys, TURN_ALARM_MS: String(alarmMs) },
    catalog: (catalog, { toolUrl }) => {
      Object.assign(catalog.AgentContexts.default, { BaseUrl: model.url, DeleteStored: true });
      catalog.ServerTools.push(httpTool('look', toolUrl));
      for (const mode of catalog.Modes) mode.Tools.push('look');
    },
  });
  await rig.start();
  rig.tools.think('/look', async ({ Arguments }) => {
    await pause(5);
    return JSON.stringify({ found: Arguments.q });
  });
  return rig;
}
