// What runs before the page is painted: its colours, so that a page that is kept dark does not come in white. A script of
// its own, since the policy runs none that stands in the page, and the page's own comes after the first painting.
import { keptTheme, showTheme } from './store/theme.js';

showTheme(keptTheme());
