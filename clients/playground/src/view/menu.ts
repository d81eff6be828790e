// What opens below its button, and closes when one leaves it or turns to something else.
import type { Signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';

/** For the element around a button and what it opens: `place`, `onKeyDown` and `onFocusOut`; `button` for the button. */
export function useMenu(isOpen: Signal<boolean>) {
  const place = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    const leave = (event: Event) => {
      if (!place.current?.contains(event.target as Node)) isOpen.value = false;
    };
    document.addEventListener('pointerdown', leave);
    return () => document.removeEventListener('pointerdown', leave);
  }, []);
  const onFocusOut = ({ relatedTarget }: FocusEvent) => {
    if (relatedTarget && !place.current?.contains(relatedTarget as Node)) isOpen.value = false;
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Escape' || !isOpen.value) return;
    event.stopPropagation();
    isOpen.value = false;
    button.current?.focus();
  };
  return { place, button, onFocusOut, onKeyDown };
}
