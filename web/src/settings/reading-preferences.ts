/** How this browser shows the app: theme, and whether single letters are keys. */

export type Theme = "system" | "light" | "dark";

const THEME = "weft.theme";
export const LETTERS = "weft.letters";

export function readTheme(): Theme {
  const kept = localStorage.getItem(THEME);
  return kept === "light" || kept === "dark" ? kept : "system";
}

export function setTheme(theme: Theme): void {
  if (theme === "system") localStorage.removeItem(THEME);
  else localStorage.setItem(THEME, theme);
  showTheme();
}

/** Called once when the app starts, and whenever the theme changes. */
export function showTheme(): void {
  const theme = readTheme();
  if (theme === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
}
