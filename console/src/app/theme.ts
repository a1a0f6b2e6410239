/** Light, dark, or what the system says; kept for the tab. */
import { store } from "../store.ts";

export type Theme = "system" | "light" | "dark";
export const THEMES: readonly Theme[] = ["system", "light", "dark"];
const PLACE = "waypost.theme";

function stored(): Theme {
  try {
    return THEMES.find((one) => one === sessionStorage.getItem(PLACE)) ?? "system";
  } catch {
    return "system";
  }
}

export const theme = store<Theme>(stored());

/** Shows the page in its theme now and after every change. */
export function applyTheme(): void {
  const apply = () => {
    const chosen = theme.get();
    if (chosen === "system") delete document.documentElement.dataset["theme"];
    else document.documentElement.dataset["theme"] = chosen;
    try {
      sessionStorage.setItem(PLACE, chosen);
    } catch {
      // it lives as long as the page
    }
  };
  theme.subscribe(apply);
  apply();
}
