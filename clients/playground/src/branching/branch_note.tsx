// Where the open session branched from, with the way back.
import { linkTo } from '../store/address.js';
import { parent, sessionId } from '../store/conversation.js';
import { Icon } from '../view/icon.js';
import { branchOf } from '../store/branches.js';
import { titleOf } from './branching.js';

export function BranchNote() {
  const known = branchOf(sessionId.value);
  // What this browser knows says which turn was asked again; the service says behind which one the session goes on.
  const session = known?.parent ?? parent.value?.SessionId;
  if (session === undefined) return null;
  const turn = known?.of ?? parent.value?.TurnId;
  return (
    <p class="branched">
      <Icon name="branch" />
      <span>
        Branched from <a dir="auto" href={linkTo({ session, ...(turn && { turn }) })}>{titleOf(session) ?? session}</a>
      </span>
    </p>
  );
}
