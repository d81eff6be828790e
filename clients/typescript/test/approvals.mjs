// Server tools whose calls need consent, `send_mail` and, with arguments that may be changed, `pay`, for the tests of clients that are asked.
import { readFileSync } from 'node:fs';
import { httpTool } from '../../../tests/e2e/harness.mjs';
import { call } from '../../../tests/e2e/scripted_model.mjs';

/** Whether the Worker asks by itself. Until it does, the model is scripted to call the question as a tool of the client. */
export const REAL = readFileSync(new URL('../../../src/contract/interface.md', import.meta.url), 'utf8').includes('agent_approve_tool');
const Message = 'It leaves the house.';

export function withApproval(catalog, { toolUrl }) {
  if (!REAL) return;
  const Approval = { When: 'Always', AllowEdit: false, Message };
  catalog.ServerTools.push(httpTool('send_mail', toolUrl, { Approval }));
  catalog.ServerTools.push(httpTool('pay', toolUrl, { Parameters: { type: 'object' }, Approval: { When: 'Always', AllowEdit: true } }));
  catalog.Modes[0].Tools.push('send_mail', 'pay');
}

let serial = 0;
/** The model's call of `send_mail`. */
export const sendMail = (args) => {
  if (REAL) return call('send_mail', args);
  return call('agent_approve_tool', { ToolCallId: `call_${++serial}`, Name: 'send_mail', Arguments: args, Message, AllowEdit: false });
};

/** What a client declares besides its own tools. */
export const declared = REAL ? [] : [{ name: 'agent_approve_tool', description: 'Stands for the question.', parameters: { type: 'object' } }];
