// What a button of the page copies.
import { announced } from '../store/conversation.js';
import { shownToCopy } from './question.js';

/** Copies a text, and has screen readers told so. Where the browser does not permit it, the text is shown; whether it was copied. */
export async function copyText(text: string, told: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    announced.value = told;
    return true;
  } catch {
    await shownToCopy('This browser does not let the page copy: copy it here', text);
    return false;
  }
}
