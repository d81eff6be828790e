// Server tools whose calls need consent, `send_mail` and, with arguments that may be changed, `pay`, for the tests of clients that are asked.
import { httpTool } from '../../../tests/e2e/harness.mjs';
import { call } from '../../../tests/e2e/scripted_model.mjs';

const Message = 'It leaves the house.';

export function withApproval(catalog, { toolUrl }) {
  const Approval = { When: 'Always', AllowEdit: false, Message };
  catalog.ServerTools.push(httpTool('send_mail', toolUrl, { Approval }));
  catalog.ServerTools.push(httpTool('pay', toolUrl, { Parameters: { type: 'object' }, Approval: { When: 'Always', AllowEdit: true } }));
  catalog.Modes[0].Tools.push('send_mail', 'pay');
}

/** The model's call of `send_mail`. */
export const sendMail = (args) => call('send_mail', args);
