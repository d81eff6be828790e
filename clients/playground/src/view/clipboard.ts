// What a button of the page copies.
import { announced } from '../store/conversation.js';

/** Copies a text, and has screen readers told so. */
export async function copyText(text: string, told: string): Promise<void> {
  await navigator.clipboard.writeText(text);
  announced.value = told;
}
